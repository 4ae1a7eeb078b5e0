"""The words that the rules know: kinds of works and places, nationalities, occupations, names of countries."""

# Kind of work, by the last word of its description -> relation that asks for its maker.
MAKER_RELATIONS = {
    "author": "novel novella book poem play tragedy comedy treatise essay work collection".split(),
    "director": "film".split(),
    "painter": "painting mural fresco".split(),
    "composer": "opera ballet oratorio symphony composition mass concerto requiem".split(),
}
RELATION_OF_KIND = {kind: relation for relation, kinds in MAKER_RELATIONS.items() for kind in kinds}

PLACE_KINDS = frozenset(
    (
        "city town village metropolis municipality river lake mountain mount volcano range island archipelago park "
        "museum bridge church cathedral mosque temple palace castle fortress university desert peninsula province "
        "prefecture region state monument site valley waterfall waterfalls plateau glacier canyon canal port building "
        "tower stadium airport square"
    ).split()
)
CONTINENTS = {
    "Africa": ("Africa",),
    "Asia": ("Asia",),
    "Europe": ("Europe",),
    "South America": ("South America",),
    "North America": ("North America", "Central America"),
    "Oceania": ("Oceania",),
}
# Names that a country goes by in descriptions and in answers.
COUNTRY_ALIASES = {
    "United States": ("United States", "America"),
    "United Kingdom": ("United Kingdom", "Britain", "England", "Scotland", "Wales", "Northern Ireland"),
    "England": ("England", "United Kingdom", "Britain"),
    "Scotland": ("Scotland", "United Kingdom", "Britain"),
    "Wales": ("Wales", "United Kingdom", "Britain"),
    "Netherlands": ("Netherlands", "Holland"),
    "Turkey": ("Turkey", "Türkiye"),
    "Czech Republic": ("Czech Republic", "Czechia"),
}
NATIONALITIES = frozenset(
    (
        "Albanian Algerian American Argentine Armenian Australian Austrian Babylonian Belgian Bolivian Brazilian "
        "British Bulgarian Cambodian Canadian Chilean Chinese Colombian Croatian Cuban Czech Danish Dutch Egyptian "
        "English Estonian Ethiopian Finnish Flemish French Georgian German Greek Hungarian Icelandic Indian Indonesian "
        "Iranian Irish Israeli Italian Jamaican Japanese Kenyan Korean Lebanese Lithuanian Malaysian Mexican Mongolian "
        "Moroccan Nigerian Norwegian Pakistani Palestinian Persian Peruvian Polish Portuguese Puerto-Rican Romanian "
        "Russian Scottish Senegalese Serbian Slovak Slovenian Soviet Spanish Swedish Swiss Syrian Thai Tunisian Turkish "
        "Ukrainian Uruguayan Venezuelan Vietnamese Welsh"
    ).split()
)
# A hyphen stands for the blank of a two-word occupation.
OCCUPATIONS = frozenset(
    (
        "abolitionist activist actor actress adventurer admiral anarchist anatomist anthropologist archaeologist "
        "architect artist astronaut astronomer astrophysicist athlete author aviator bacteriologist ballerina banker "
        "baseball-player basketball-player biochemist biologist biophysicist boxer botanist businessman businesswoman "
        "cartographer cartoonist cellist chemist chess-player choreographer civil-engineer comedian commander composer "
        "computer-scientist conductor conquistador cosmologist cosmonaut cricketer critic cryptographer dancer designer "
        "diplomat director dramatist ecologist economist editor educator electrical-engineer engineer engraver "
        "entrepreneur essayist ethnographer ethologist explorer fashion-designer feminist filmmaker film-director "
        "film-producer folklorist footballer general geneticist geographer geologist geometer geophysicist golfer "
        "grammarian guitarist gymnast historian humanist humorist illustrator immunologist industrialist inventor "
        "jazz-musician journalist jurist lawyer lexicographer librarian librettist linguist logician lyricist magician "
        "mathematician mechanic meteorologist microbiologist military-officer military-leader mineralogist missionary "
        "monk mountaineer musician musicologist mystic naturalist naval-officer navigator neurologist neuroscientist "
        "novelist nun nurse orator organist painter paleontologist pathologist philanthropist philologist philosopher "
        "photographer physician physicist physiologist pianist pilot pirate playwright poet political-activist "
        "political-scientist politician polymath preacher priest printer producer programmer psychiatrist psychoanalyst "
        "psychologist publisher racing-driver rapper revolutionary revolutionary-leader sailor saxophonist scholar "
        "scientist screenwriter sculptor seismologist singer singer-songwriter social-reformer sociologist songwriter "
        "soldier statesman statistician surgeon suffragette suffragist swimmer tennis-player theologian theorist "
        "trumpeter virologist violinist writer zoologist"
    ).split()
)
