"""Stop words of English and Portuguese: words that every text has, and that say nothing about its topic."""

__all__ = ["ENGLISH_STOPS", "PORTUGUESE_SHARED_STOPS", "PORTUGUESE_STOPS"]


def _words(written: str) -> frozenset[str]:
    return frozenset(written.split())


# Stop words are written without accents and apostrophes, as they are compared. Excluded on purpose: words that carry
# the meaning of a note (never, always, down, off, done) or are names of things (may, ai, ti).
ENGLISH_STOPS = _words("""
    a about above after again against all almost along already also although am among an and another any anybody anyone
    anything are around as at be because been before being below beside besides between beyond both but by can cannot
    could did do does doing during each either else enough ever every everybody everyone everything few for from further
    had has have having he hence her here hers herself him himself his how however i if in indeed instead into is it its
    itself just least less many me might more moreover most mostly much must my myself neither no nobody none nor not
    nothing now of on once only onto or other others otherwise ought our ours ourselves out over own per perhaps quite
    rather really same shall she should since so some somebody somehow someone something sometimes somewhere still such
    than that the their theirs them themselves then there therefore these they this those though through throughout thus
    to too toward towards under unless until up upon us very via was we were what whatever when whenever where whereas
    wherever whether which whichever while who whoever whom whose why will with within without would yet you your yours
    yourself yourselves
    aint arent cant couldnt didnt doesnt dont hadnt hasnt havent isnt mightnt mustnt neednt shant shouldnt wasnt werent
    wont wouldnt
""")
# Portuguese stop words that are words or names in English texts too: OS, EU, NAS, num, logo, todo, "an era", "we ate".
# They are dropped from Portuguese texts, but are no evidence for the language, and a query of unknown language keeps
# them.
PORTUGUESE_SHARED_STOPS = _words("""
    ante ate contra das dos e era eram eras es eu for ha la logo nas nos num os sem ser si sob somos tal tao ter todo
    todos tu vos
""")
PORTUGUESE_STOPS = PORTUGUESE_SHARED_STOPS | _words("""
    a acerca agora ainda alem alguem algum alguma algumas alguns ambas ambos antes ao aos apenas apesar apos
    aquela aquelas aquele aqueles aqui aquilo as assim atraves cada com comigo como conosco consigo contigo
    contudo cuja cujas cujo cujos da daquela daquelas daquele daqueles de dela delas dele deles dentro depois desde
    dessa dessas desse desses desta destas deste destes disso disto do durante ela elas ele eles em embora enquanto
    entao entre essa essas esse esses esta estamos estao estar estas estava estavam estavamos este esteja estejam
    esteve estes estive estiver estiveram estou foi fomos foram fosse fossem fui haja havia haviam houve houver isso
    isto ja jamais lhe lhes mais mas me mesma mesmas mesmo mesmos meu meus mim minha minhas muita muitas muito
    muitos na nao naquela naquelas naquele naqueles nela nelas nele neles nem nenhum nenhuma nessa nessas nesse nesses
    nesta nestas neste nestes ninguem nisso nisto no nossa nossas nosso nossos numa numas nuns o onde ou outra outras
    outro outros para pela pelas pelo pelos perante pode podem podia pois por porem porque portanto pouca poucas pouco
    poucos pra quais quaisquer qual qualquer quando quanta quantas quanto quantos quase que quem sao se seja sejam
    sejamos sendo sera serao seria seriam seu seus sido so sobre sou sua suas tambem tampouco tanta tantas tanto tantos
    te tem temos tendo tenha tenham tenho tera terao teria teriam teu teus teve tido tinha tinham tive tivemos tiver
    tiveram toda todas tua tuas tudo um uma umas uns vai vamos vao varias varios voce voces vou
""")
