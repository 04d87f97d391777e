"""The words by which `contradictions` recognises a change: lists in English, Portuguese, German and Spanish. Data only.

All words are written folded: lower case, without accents and apostrophes.
"""

import re
from itertools import product

__all__ = [
    "AND",
    "CHANGED",
    "DEFINITE",
    "EAST_ASIAN_CHANGED",
    "EAST_ASIAN_ENDED",
    "EAST_ASIAN_NEGATIONS",
    "ENDED",
    "GREETINGS",
    "HINTED",
    "MONTHS",
    "NEGATIONS",
    "NUMBERS",
    "OPPOSITES",
    "PLACES",
    "PORTUGUESE",
    "UNITS",
    "WEEKDAYS",
]


def _set(written: str) -> frozenset[str]:
    return frozenset(written.split())


def _marks(written: str) -> tuple[str, ...]:
    return tuple(written.split())


NEGATIONS = _set("""
    not no never cannot without neither nor none nobody nothing
    dont doesnt didnt isnt arent wasnt werent wont cant couldnt shouldnt wouldnt hasnt havent hadnt mustnt neednt
    nao nunca jamais nenhum nenhuma ninguem nada sem
    nicht kein keine keinen keiner keinem keines nie niemals ohne nichts niemand
    ningun ninguna ninguno nadie sin jamas
    ne pas aucun aucune non mai
""")
PLACES = _set("""
    in at on inside near behind over
    em no na nos nas
    in im an am auf bei beim hinter neben
    en junto
""")
"""Prepositions before a place."""
DEFINITE = _set("the o a os as der die das den dem el la los las our nosso nossa unser unsere nuestro nuestra")
PORTUGUESE = _set("nao um uma em ao os da dos pelo pela sao na com seu sua")
"""Words of Portuguese, where `no` is not a negation."""
GREETINGS = _set("""
    hey hi hello thanks thank wow oh yeah yes ok okay congrats congratulations bye please sorry woohoo
    oi ola obrigado obrigada hallo danke bitte hola gracias adios
""")
"""First words of sentences that state nothing."""
AND = _set("and or with e ou com und oder mit y o con & / ,")
_OPPOSITES = """
    open closed/close/shut | on off | online offline | succeed/succeeded/success/passed/passes fail/failed/fails/failure
    works/working/work/worked broken/fails/failing | enabled/enable/enables disabled/disable/disables
    allowed/allow/allows/permitted forbidden/forbid/denied/deny/denies/prohibited/banned | up down | true false | yes no
    active inactive | public private | before after
    increase/increased/increases/rises/rose decrease/decreased/decreases/falls/fell
    always never | accepted/accept/accepts rejected/reject/rejects/declined | approved rejected/refused/declined
    available unavailable | full empty | with without | above below | left right | morning evening/afternoon
    mandatory/required/compulsory optional/voluntary | like/likes/love/loves hate/hates/dislike/dislikes | fast slow
    safe unsafe | possible impossible | high low | early late | remote onsite/office | single married | hot cold
    done/finished/completed/complete pending/unfinished/incomplete | started stopped | running stopped | gained lost
    bought sold | locked unlocked | connected disconnected | visible hidden | included excluded
    free paid | for against
    vegetarian carnivore | odd even | cheap expensive | synchronous asynchronous | internal external | noon midnight
    aberto/aberta/abertos/abertas fechado/fechada/fechados/fechadas | ligado/ligada desligado/desligada | abre fecha
    funcionou/funciona/passou falhou/falha/quebrou | sucesso falha/fracasso | ativo/ativa inativo/inativa
    ativado/ativada desativado/desativada | sempre nunca | permitido/permitida proibido/proibida
    aceito/aceita/aceitou recusado/recusada/recusou/rejeitou | aprovado/aprovada rejeitado/rejeitada/reprovado/reprovada
    publico/publica privado/privada | antes depois | obrigatorio/obrigatoria opcional | disponivel indisponivel
    gosta/adora/gosto odeia/detesta/detesto | cheio/cheia vazio/vazia | com sem | manha noite/tarde | rapido lento
    remoto presencial | solteiro/solteira casado/casada | alto/alta baixo/baixa | concluido/concluida pendente
    offen/geoffnet/auf geschlossen/zu | an aus | ein aus | eingeschaltet ausgeschaltet
    erfolgreich/gelungen/bestanden fehlgeschlagen/gescheitert | funktioniert/lauft kaputt/versagt/scheitert
    aktiv inaktiv | aktiviert deaktiviert | immer nie/niemals | erlaubt/gestattet verboten/untersagt
    angenommen/akzeptiert abgelehnt/verworfen | genehmigt abgelehnt | offentlich privat | vor nach | vorher nachher
    pflicht/verpflichtend/obligatorisch optional/freiwillig | verfugbar unverfugbar | mag/liebt hasst | voll leer
    mit ohne | morgens abends | schnell langsam | ledig verheiratet | hoch niedrig | fertig/erledigt offen
    verbunden getrennt | gekauft verkauft | gesperrt entsperrt/freigegeben | sicher unsicher
    abierto/abierta cerrado/cerrada | abre cierra | encendido/encendida apagado/apagada | exito fracaso/error
    funciona/funciono/paso falla/fallo | activo/activa inactivo/inactiva | activado/activada desactivado/desactivada
    siempre nunca/jamas | permitido/permitida prohibido/prohibida | aceptado/aceptada/acepto rechazado/rechazada/rechazo
    aprobado/aprobada rechazado/rechazada/suspendido | publico/publica privado/privada | antes despues
    obligatorio/obligatoria opcional | disponible ocupado/ocupada | gusta/encanta odia/detesta | lleno/llena vacio/vacia
    con sin | manana noche/tarde | rapido/rapida lento/lenta | remoto presencial | soltero/soltera casado/casada
    opened closed/shut | opens closes | openly secretly | works/working/work/worked stopped/broke
    married divorced/separated | dating/together separated/apart/broke | alive dead/died | pregnant born
    healthy/fine sick | recovered sick/ill | employed unemployed/fired | hired fired | happy sad/unhappy
    agree/agrees/agreed disagree/disagrees/disagreed | support/supports/supported oppose/opposes/opposed
    vegan/vegetarian meat | encrypted unencrypted | signed unsigned | stable unstable | reachable unreachable/down
    reliable unreliable | clean dirty | wet dry | legal illegal | valid invalid | known unknown | same different
    present absent | win/won/wins lose/lost/loses | buy/buys sell/sells | grow/grew/grows shrink/shrank/shrinks
    join/joined left/leaves | arrive/arrived/arrives leave/left/leaves | ahead behind | under over
    expensive free | mandatory optional | manual/manually automatic/automatically | temporary permanent | weak strong
    blocked unblocked | paused resumed | passed/passing/passes failing | green red | merged reverted
    urgent unimportant | public internal | fixed broken | solved/resolved unsolved/unresolved/open
    aberto/aberta/abertos/abertas/abriu/abriram/abre fecharam/fechou/fecha/encerrado/encerrada/encerrou
    ligado/ligada/ligados/ligadas desligado/desligada/desligados/desligadas | ligou desligou
    funciona/funcionam/funcionou/funcionar avariou/avariado/avariada/quebrado
    funciona/funcionam/funcionou/funcionar quebrada/estragou/estragado/estragada/parou
    solteiro/solteira casou/casou-se/noivo/noiva | casado/casada divorciado/divorciada/divorciou/separado/separada
    ativado/ativada/ativados/ativadas/ativou desativado/desativada/desativados/desativadas/desativou
    aprovado/aprovada/aprovou/aprovaram rejeitado/rejeitada/rejeitou/recusado/recusada/recusou/chumbou/chumbado/chumbada
    aceite/aceito/aceita/aceitou recusado/recusada/recusou | gosta/adora/ama/gosto/adoro odeia/detesta/odeio/detesto
    comprou vendeu | ganhou perdeu | vivo/viva morto/morta/morreu | saudavel doente | gratis/gratuito/gratuita pago/paga
    limpo/limpa sujo/suja | seguro/segura inseguro/insegura | automatico/automatica manual | quente frio/fria
    facil dificil | cedo tarde | livre/livres ocupado/ocupada | bloqueado/bloqueada desbloqueado/desbloqueada
    novo/nova velho/velha/antigo/antiga | subiu desceu/baixou | aumentou diminuiu/baixou | cresceu diminuiu/encolheu
    contratado/contratada demitido/demitida/despedido/despedida
    geoffnet/offen/auf/offnet geschlossen/zu/schliesst/zugemacht/dicht | eingeschaltet/an ausgeschaltet/aus/abgeschaltet
    funktioniert/lauft/geht/funktionieren kaputt/defekt/versagt/scheitert/streikt/ausgefallen
    ledig/single verheiratet/geheiratet/heiratet/verlobt | verheiratet geschieden/getrennt
    mag/liebt/liebe/mogen hasst/hasse/verabscheut | lebt tot/gestorben | gesund krank
    kostenlos/gratis/umsonst kostenpflichtig
    gewonnen/gewinnt verloren/verliert | gekauft/kauft verkauft | sauber schmutzig/dreckig | billig teuer
    automatisch manuell | warm kalt | heiss kalt | leicht schwer/schwierig | fruh spat | frei besetzt/belegt
    befristet unbefristet | zugestimmt abgelehnt | bestanden durchgefallen | eingestellt entlassen
    verfugbar vergriffen/ausverkauft | steigt/gestiegen sinkt/gesunken/fallt/gefallen | trocken nass | laut leise
    abierto/abierta/abre/abren/abrieron cerrado/cerrada/cierra/cierran/cerro/cerraron
    encendido/encendida/encendidos/encendidas apagado/apagada/apagados/apagadas/apago/apagaron
    funciona/funcionan/funciono averiado/averiada/estropeado/estropeada/roto/rota/falla/fallo
    soltero/soltera caso/casado/casada/casaron | casado/casada divorciado/divorciada/separado/separada/divorcio
    gusta/encanta/gustan/encantan/adora/ama odia/detesta/odio/detesto | vivo/viva muerto/muerta/murio
    aprobado/aprobada/aprobo/aprobaron rechazado/rechazada/rechazo/rechazaron/suspendio/denegado/denegada
    activado/activada/activo desactivado/desactivada/desactivo | compro vendio | gano perdio | sano/sana enfermo/enferma
    gratis/gratuito/gratuita pago/pagado/cobran | limpio/limpia sucio/sucia | barato/barata caro/cara
    automatico/automatica manual | caliente frio/fria | facil dificil | libre ocupado/ocupada | seguro/segura inseguro
    subio bajo | aumento disminuyo/bajo | contratado/contratada despedido/despedida | disponible agotado/agotada
    bloqueado/bloqueada desbloqueado/desbloqueada | conectado/conectada desconectado/desconectada
"""


def _pattern(*languages: str) -> re.Pattern[str]:
    """Return one pattern for phrases that are separated by white space, with `_` for the space inside a phrase."""
    phrases = "|".join("|".join(language.split()) for language in languages).replace("_", " ")
    return re.compile(rf"\b(?:{phrases})\b")


ENDED = _pattern(
    r"""
    no_longer not_any_?more anymore stopped quit quits ended ends_now is_over are_over cancel(?:l?ed)? retired resigned
    gave_up given_up giving_up dropped dropping discontinued dissolved disbanded abandoned broke_up broken_up split_up
    separated divorced sold_(?:the|my|our|his|her|their|it) decommissioned deprecated expired got_rid_of removed
    terminated abolished scrapped phased_out laid_off was_fired passed_away died withdrew unsubscribed shut_down
    closed_down went_bankrupt out_of_business no_more left_the used_to retires unplugged uninstalled deleted
    stepped_down outgrew outgrown
    """,
    r"""
    ja_nao nao_\w+_mais nao_\w+_\w+_mais deixou deixei deixamos deixaram parou_(?:de|com) parei_(?:de|com)
    paramos_(?:de|com) acabou acabaram acabamos terminou terminaram terminei cancelad[oa]s? cancelou cancelei
    cancelamos cancelaram reformou(?:-se)? reformad[oa] aposentou(?:-se)? aposentad[oa] desisti desistiu desistimos
    desistiram saiu_d[eao]s? sai_d[eao]s? encerrad[oa]s? encerrou encerramos largou larguei abandonou abandonamos
    separaram(?:-se)? separou(?:-se)? divorciou(?:-se)? divorciaram(?:-se)? extint[oa]s? descontinuad[oa]s?
    rescindi\w* vendeu vendemos vendi demitiu(?:-se)? despediu(?:-se)? despedid[oa] dissolvid[oa] suspens[oa]s?
    suspendeu removid[oa]s? desinstal\w+ expirou faleceu morreu chegou_ao_fim
    """,
    r"""
    nicht_mehr kein\w*_\w+_mehr kein\w*_\w+_\w+_mehr aufgehort beendet endete gekundigt kundigt kundigte eingestellt
    abgesagt abgeschafft getrennt trennten geschieden in_rente im_ruhestand pensioniert pension aufgegeben verkauft
    storniert abgemeldet aufgelost verlassen ausgetreten abgelaufen stillgelegt abgebrochen ausgestiegen vorbei schluss
    abbestellt weggefallen entfernt abgeschaltet geloscht gestorben entlassen gestrichen zuruckgetreten hort_auf
    """,
    r"""
    ya_no dejo deje dejamos dejaron (?:ha|he|han|hemos)_dejado termino terminamos terminaron acabo_con acabaron
    cancel\w+ (?:se_)?jubilo jubilad[oa] renuncio renuncie abandono abandonamos vendio vendimos vendi rompio rompieron
    separo separaron divorci\w+ borrad[oa] borre de_baja suspendid[oa]s? disolvi\w+ disuelt[oa]
    retir(?:o|aron|ado|ada|amos) expiro caduco se_acabo despidieron despidio despedid[oa] murio fallecio eliminad[oa]s?
    eliminamos desinstal\w+
    """,
)
"""What a sentence says that ends something: no longer, retired, deixou de, nicht mehr, ya no."""
CHANGED = _pattern(
    r"""
    instead instead_of rather_than moved moving moves relocated transferred migrated switched switching swapped changed
    changes replaced replaces rescheduled rebooked postponed pushed_(?:back|to) delayed brought_forward raised increased
    went_up lowered reduced renamed rewritten took_over taken_over takes_over shifted upgraded downgraded converted
    from_now_on as_of formerly extended shortened promoted reassigned went_from found_out has_become became
    """,
    r"""
    em_vez ao_inves no_lugar mudou(?:-se)? mudamos(?:-nos)? mudaram(?:-se)? mudei mudad[oa]s? passou passamos passaram
    passa_a passei foi_viver foram_viver foi_morar foram_morar transferi\w+ migr(?:ou|amos|aram|ad[oa]s?) trocou
    trocamos trocaram troquei substitui(?:mos|d[oa]s?|ram) substituiu movid[oa]s? adiad[oa]s? adiaram adiou
    antecipad[oa]s? prolongad[oa]s? aumentou aumentaram subiu subiram baixou baixaram a_partir_de marcad[oa]
    remarcad[oa]s? reagendad[oa]s? remarcaram decidimos decidi decidiram alterad[oa]s? alterou alteramos renomead[oa]
    reescrit[oa] assumiu promovid[oa] ficou_para
    """,
    r"""
    statt stattdessen anstatt anstelle verlegt verschoben umgezogen gezogen zieht_um gewechselt wechselt wechseln
    ersetzt umbenannt ab_sofort ab_jetzt von_nun_an verlangert verkurzt erhoht gesenkt gestiegen umgestellt ubernommen
    ubernimmt ubertragen vorverlegt vertagt geandert andert migriert umgestiegen hochgesetzt springt befordert
    seit_neuestem umgeschrieben
    """,
    r"""
    en_lugar en_vez se_(?:mudo|movio|cambio|traslado|mudaron|trasladaron|mudan) mudad[oa]s? mude mudamos trasladad[oa]s?
    trasladamos trasladaron trasladar cambiamos cambio cambie cambiaron cambiad[oa]s? paso pasamos pasaron
    reemplaza(?:mos|ron|d[oa]s?) reemplazo sustitui(?:mos|d[oa]s?) sustituyo aplazad[oa]s? aplazo aplazaron
    pospuest[oa]s? pospuso retras\w+ adelant\w+ subido subio subieron bajado desde_ahora a_partir_de transferi\w+
    transferid[oa]s? (?:se_)?(?:ha|han|fue|fueron)_ido se_fue se_fueron migr(?:o|amos|aron|ad[oa]s?) decidi\w*
    renombr\w+ ascendid[oa] asumio reescrib\w+ ampli(?:o|ad[oa]|aron)
    """,
)
"""What a sentence says that changes something: moved to, instead of, mudou, verlegt, se trasladó."""
HINTED = _pattern(
    "now these_days nowadays currently new turns_out actually this_year",
    "agora atualmente afinal nov[oa]s? hoje_em_dia na_verdade este_ano",
    "jetzt nun inzwischen mittlerweile derzeit aktuell neu(?:e[rsn]?)? neuerdings doch eigentlich runter rauf",
    "ahora actualmente hoy_en_dia nuev[oa]s? resulta en_realidad al_final este_ano",
)
"""Weak signs of a change, which many sentences without a change have, too: now, new."""
EAST_ASIAN_NEGATIONS = _marks("ない ません なかった 不 没 無 无 未 勿 않 없 못 아니")
EAST_ASIAN_ENDED = _marks("""
    もう やめ 辞め 終わ 終了 中止 退職 引退 解約 解散 別れ 離婚 廃止
    不再 已经不 取消 辞职 离职 退休 戒 分手 离婚 停止 停产
    더이상 그만 끊었 취소 은퇴 퇴사 헤어 이혼 끝났 중단 폐지
""")
EAST_ASIAN_CHANGED = _marks("""
    変更 変わ 代わ 今は 現在 引っ越 移転 移動 移り 移し 延期 なりました になった
    改为 改成 改到 改在 换成 换到 换了 现在 搬到 搬去 搬家 搬 涨 推迟 提前 调到 延到
    이제 대신 변경 바뀌 바꿨 이사 옮겼 옮겨 미뤄 연기 올랐 올라 되었 됐
""")


def _opposites(written: str) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for line in written.strip().splitlines():
        for pair in line.split("|"):
            words = [side.split("/") for side in pair.split()]
            for first, second in zip(words[::2], words[1::2], strict=True):
                for one, other in product(first, second):
                    found.setdefault(one, set()).add(other)
                    found.setdefault(other, set()).add(one)
    return {word: frozenset(others) for word, others in found.items()}


OPPOSITES = _opposites(_OPPOSITES)
WEEKDAYS = _set("""
    monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays
    sundays mon tue wed thu fri sat sun weekday weekdays weekend weekends
    segunda terca quarta quinta sexta sabado domingo segundas tercas quartas quintas sextas sabados domingos
    segunda-feira terca-feira quarta-feira quinta-feira sexta-feira
    segundas-feiras tercas-feiras quartas-feiras quintas-feiras sextas-feiras
    montag dienstag mittwoch donnerstag freitag samstag sonntag montags dienstags mittwochs donnerstags freitags
    samstags sonntags lunes martes miercoles jueves viernes lundi mardi mercredi jeudi vendredi samedi dimanche
""")
MONTHS = _set("""
    january february march april may june july august september october november december jan feb mar apr jun jul aug
    sep sept oct nov dec janeiro fevereiro marco abril maio junho julho agosto setembro outubro novembro dezembro
    januar februar marz mai juni juli oktober dezember enero febrero marzo mayo junio julio septiembre octubre noviembre
    diciembre
""")
NUMBERS = _set("""
    zero one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty hundred thousand once
    twice first second third fourth fifth half double
    um dois duas tres quatro cinco sete oito nove dez onze doze vinte trinta cem mil primeiro segundo terceiro
    primeira terceira metade
    eins zwei drei vier funf sechs sieben acht neun zehn elf zwolf zwanzig dreissig hundert tausend erste zweite dritte
    erster zweiter dritter ersten zweiten dritten
    uno dos cuatro seis siete ocho nueve diez once doce veinte treinta cien primero tercero primera segunda tercera
""")
UNITS = _set("""
    second seconds minute minutes hour hours day days week weeks month months quarter quarters year years ms s min h
    byte bytes kb mb gb tb kib mib gib tib hz mhz ghz km m cm mm mile miles kg g lb lbs ton tons eur euro euros usd
    dollar dollars gbp pounds percent % degrees celsius fahrenheit daily weekly monthly quarterly yearly annually hourly
    segundo segundos minuto minutos hora horas dia dias semana semanas mes meses ano anos diario semanal mensal anual
    trimestral reais real diariamente semanalmente mensalmente
    sekunde sekunden minuten stunde stunden tag tage tagen woche wochen monat monate monaten jahr jahre jahren taglich
    wochentlich monatlich jahrlich prozent
    dolares diariamente semanalmente mensualmente mensual anos
""")
