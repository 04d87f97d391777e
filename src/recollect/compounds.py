"""The parts of German compounds, by a list of the words that most are made of. Pure functions over folded words.

The argument. German writes compounds as one word, so "Zahnarzttermin" shares no term with "ein Termin beim Zahnarzt".
A compound is parsed from its end, because its last part says what it is: words of the list, joined directly or by one
of the letters that join them, and an ending. One part may be unknown if the others are long enough to be no accident
("Papageienkäfig", "Stromanbieter", but not "Struktur" by "Tür"). A wrong split costs little: the whole word is indexed
as well, and the parts only add terms. Of 60 compounds written down after the list, 52 are found by a part and find it.
"""

from functools import lru_cache

__all__ = ["is_compound", "parts"]

# Without umlauts, as they are compared; singular, because an ending may follow.
_KNOWN = frozenset(
    str.split("""
    abend abfall abgabe ablauf abrechnung abschluss abteilung adresse akte aktie alarm allergie alltag altersheim
    amt anbieter anderung anfang anfrage angebot angst anlage anleitung anmeldung anruf anschluss antrag antwort
    anwalt anzeige anzug apfel apotheke apparat arbeit archiv arm art artikel arzt atem aufgabe auflage auftrag auge
    ausbildung ausflug ausgabe ausgang auskunft ausland ausweis ausweise auto backer bad bahn bahnhof balkon ball
    bank bar batterie bau bauch bauer baum baumwoll becher bedarf beginn behandlung beitrag beratung berg bericht
    beruf bescheid beschwerde besitzer besprechung bestand bestellung besuch betrag betreuung betrieb bett bewerbung
    bier bild bildschirm bildung bio birne blatt blick blume blut boden bohne boot bote brand braut breite bremse
    brett brief brille brot bruch brucke bruder brunnen brust buch buchhaltung buchse buchung bude bund burg burger
    buro bursche burste bus butter chef chor computer creme dach dame dampf daten dauer decke deckel deutsch
    diagnose diat dichtung dieb dienst ding dom dorf dose draht dreh druck drucker duft dunger durst dusche ecke ehe
    ehren ei eimer eingang einheit einkauf einkommen einladung einlass einsatz eintritt eis eisen eltern empfang
    ende energie englisch entwickler entwicklung entzundung erbe erd erdbeer erdbeere erde erfahrung ergebnis
    erhohung erklarung ernte ersatz ess essen essig etage fabrik fach faden fahne fahrer fahrkarte fahrplan fahrrad
    fahrschein fahrschule fahrt fahrzeug fall falle familie familien farb farbe fass feder fehler feier feiertag
    feld fell fenster ferien fern fernseher fest feuer feuerwehr fieber figur film filter finger firma firmen fisch
    flasche fleck fleisch fliege flucht flug flugel flughafen flugzeug flur fluss folge form formular forschung foto
    frage franken frau freizeit freund friedhof frist frost frucht fruhling fruhstuck fuhrer fuhrung fuss fussball
    futter gabel gang gans garage garten gas gasse gast gebaude gebet gebiet gebuhr geburt geburtstag gedachtnis
    gefahr gehalt gehirn geist geld gelenk gemeinde gemuse gerat gericht gesang geschaft geschenk geschichte
    gesellschaft gesetz gesicht gesprach gestell gesundheit getrank gewicht gewinn gewitter gewurz gift gitarre glas
    glaube gleis glocke gluck gold grab grad gras grenz grenze griff grill grippe grosse grund gruppe gruss gurke
    gurtel gut haar hafen haft hahn halle hals haltestelle hammer hand handel handschuh handtuch handwerk handy
    haupt haus haushalt haustier haut heft heim heimat heizung held helm hemd herbst herd herr herz heu hilfe himmel
    hinweis hirsch hitze hochschule hochzeit hof hohe holz honig horn hose hotel huhn hund hunger husten hut hutte
    idee impf impfung industrie inhalt insekt insel institut internet jacke jagd jahr jahreszeit jubilaum jugend
    junge kabel kafer kaffee kafig kaiser kakao kalb kalender kamera kamm kammer kampf kanal kanne kanzlei kapital
    karotte karte kartoffel kase kasse kasten kater katze kauf kaufer keks keller kellner kern kerze kette kind
    kinder kino kirch kirche kirsche kissen kiste klage klasse klavier kleid kleider kleidung klima klingel klinik
    klo knie knochen knopf koch koffer kohle kollege konferenz konig konto kontrolle konzept konzert kopf kopie korb
    korn korper kosten kraft kran krank kranken krankenhaus krankheit kraut krebs kredit kreis kreuz krieg krise
    kritik krone kuche kuchen kugel kuh kuhlschrank kultur kunde kundigung kunst kupfer kur kurs kuste lack lade
    laden lager lampe land landung lange lappen lauf laune laut leben lebensmittel leber leder lehre lehrer lehrling
    leid leine leiste leiter leitung lese licht liebe lieblings lied liefer lieferung liege linie linse liste loch
    loffel lohn losung luft lunge lust macht madchen magen mahlzeit mahnung maler manager mandel mann mantel marke
    markt maschine mathe mauer maus medien medikament medizin meer mehl meister meldung menge mensch messe messer
    metall miet miete mieter milch minister ministerium minute mitarbeiter mitglied mittag mittel mobel mode monat
    mond montag moped mord motor motorrad mucke mull mund munze museum musik muskel muster mutter mutze nachbar
    nachricht nacht nadel nagel name narkose nase natur nebel nerv netz nord not note notiz nudel nummer nuss obst
    oel ofen ohr olive oliven opa oper opfer orange ordner ordnung organ ort ost oster paar packung paket palme
    panne papagei papier park parkplatz partei partner party pass passwort patient pause person personal pfanne
    pfeffer pferd pflanze pflaster pflege pflicht pfote pilz plan planung platte platz politik polizei post
    praktikum praxis preis presse prob problem produkt produktion professor programm projekt protokoll prozent
    prozess prufer prufung pullover pulver pumpe punkt puppe quelle quittung rabatt rad radio rand rasen rat rathaus
    ratte raub rauch raum rechner rechnung recht rede reform regal regel regen regierung reifen reihe reinig
    reinigung reis reise religion rennen rente reparatur restaurant rezept richter richtung rind rock rohr rolle
    roman rose rot rucken rucksack ruhe saal sach sache sack saft sage saison salat salbe salz sand sanger satz
    schach schachtel schaden schaf schal schale schalter schatten schatz schauspieler scheibe schein schere schicht
    schiene schiff schild schinken schirm schlacht schlaf schlag schlange schlauch schleif schloss schluss schlussel
    schmerz schmuck schnee schneide schneider schnitt schokolade schrank schraube schreib schrift schuh schul schuld
    schule schuler schulter schulung schuss schussel schutz schwein schwester schwimm schwimmbad see seele seife
    seil seite sekretar semester sender serie server sessel sicherheit sicherung silber sitz sitzung ski socke sofa
    software sohn soja sommer sonder sonne spargel spass speicher speise spiegel spiel spieler spinne sport sprach
    sprache spritze spruch spul staat stadt stahl stall stamm stand standort station statistik stau staub steckdose
    steh stein stell stelle stellung stempel stern steuer steuererklarung stich stiefel stift stil stimme stock
    stoff storung strafe strahl strand strasse strauss streik streit strom struktur strumpf stube stuck student
    studie studio studium stuhl stunde sturm suche sucht sud suppe susse system tabelle tablette tafel tag tal tank
    tanz tapete tarif tasche tasse tastatur taube taufe tausch technik tee teich teig teil telefon teller temperatur
    teppich termin test teufel text theater therapie thermo ticket tier tinte tipp tisch tochter tod toilette tomate
    ton tonne topf tor torte tour trage training traktor traum treffen tren treppe trick trink trocken tropfen tuch
    tunnel tur turm turnier tute uhr umsatz umschlag umwelt umzug unfall universitat unterkunft unterlage unterricht
    unterschrift urlaub ursache vater ventil verband verbindung verbot verbrauch verein verfahren vergleich
    verhaltnis verkauf verkehr verlag verleih verlust vermieter vermittlung vermogen vernunft verpackung versand
    verschluss versicherung versorgung versuch vertrag vertretung verwaltung verzeichnis video vieh virus vogel volk
    vollkorn vorhang vorlage vorschlag vorsorge vortrag waage wache waffe wagen wahl wahrung wald wand wander
    wanderung ware warm warme wartung wasch wasche wasser wechsel wecker weg wehr weihnacht wein weise weite welle
    welt werbung werk werkstatt werkzeug wert wespe west wettbewerb wette wetter whisky wiese wind winter wirt
    wirtschaft wissen wissenschaft witz woche wohn wohnung wolf wolke woll wolle wort wunde wunsch wurfel wurm wurst
    wurzel wuste zahl zahler zahlung zahn zahnarzt zange zaun zebra zeche zeichen zeichnung zeile zeit zeitung zelle
    zelt zentrum zertifikat zettel zeug zeugnis ziege ziel ziffer zimmer zins zirkus zitrone zoll zone zoo zucker
    zug zukunft zunge zustand zweig zwiebel zwilling
    """)
)
_ENGLISH = frozenset(("glassware", "grasslands", "handstand", "motorsports", "regenerate", "regenerates", "wandering"))
_STARTS = frozenset(word[:3] for word in _KNOWN)
_LONGEST = max(map(len, _KNOWN))
_LINKS = ("", "s", "es", "n", "en", "er", "e", "ns", "ens")
_ENDINGS = frozenset(("", "e", "em", "en", "er", "ern", "es", "in", "innen", "n", "nen", "s", "se", "sen"))
_SHORTEST, _TOO_LONG = 7, 48
_HEAD = 5
"""Letters of a part beside an unknown one, and of an unknown last one; an unknown first one may have one less."""
_JOINED = ("ungs", "heits", "keits", "ions", "tats", "schafts", "lings")


def is_compound(word: str) -> bool:
    """Return whether a folded word consists of words of the list, and is no English word."""
    if word in _ENGLISH:
        return False
    if word[:3] not in _STARTS or not _SHORTEST <= len(word) <= _TOO_LONG:  # most words end here
        return False
    return word.isascii() and word.isalpha() and len(_tails(word)[0]) > 1


@lru_cache(20_000)
def parts(word: str) -> tuple[str, ...]:
    """Return the parts of a folded word that is a German compound, in order; none of any other word."""
    if not _SHORTEST <= len(word) <= _TOO_LONG or not (word.isascii() and word.isalpha()):
        return ()
    tails = _tails(word)
    if len(tails[0]) > 1:
        return tails[0]
    if tails[0]:
        return ()
    for place in range(_HEAD - 1, len(word) - _HEAD + 1):
        if tails[place] and len(tails[place][0]) >= _HEAD:
            first = word[:place]
            return (first[:-1] if first.endswith(_JOINED) else first, *tails[place])
    return _before_unknown(word)


def _before_unknown(word: str) -> tuple[str, ...]:
    """Return the longest word of the list that the word starts with, and the rest."""
    for place in range(min(_LONGEST, len(word) - _HEAD), _HEAD - 1, -1):
        if word[:place] in _KNOWN:
            joined = word[: place + 1].endswith(_JOINED) and len(word) - place > _HEAD
            return word[:place], word[place + joined :]
    return ()


def _tails(word: str) -> list[tuple[str, ...]]:
    """Return the words of the list that the word consists of from each place on: the fewest, else none."""
    tails: list[tuple[str, ...]] = [()] * (len(word) + 1)
    for start in range(len(word) - 3, -1, -1):
        for end in range(start + 3, min(start + _LONGEST, len(word)) + 1):
            if word[start:end] not in _KNOWN:
                continue
            after = [end + len(link) for link in _LINKS if word.startswith(link, end)]
            found = [tails[place] for place in after if tails[place]]
            if word[end:] in _ENDINGS:
                found.append(())
            for rest in found:
                if not tails[start] or len(rest) + 1 <= len(tails[start]):
                    tails[start] = (word[start:end], *rest)
    return tails
