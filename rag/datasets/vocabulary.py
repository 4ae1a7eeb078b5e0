"""The words that the rules know: kinds of works and places, nationalities, occupations, names of countries."""

import re

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
# Last words of names that are titles, or come before the given name.
NO_SURNAMES = frozenset("Ali Elder Emperor Khan Pasha Shah Song Sultan Younger".split())
SURNAME_FIRST = frozenset("Chinese Japanese Korean Vietnamese".split())
# Several people, or none.
NO_PERSONS = re.compile(r"\b(?:band|brothers|duo|dynasty|empire|family|group|state|team)$", re.IGNORECASE)
# Beginnings of descriptions of people that say where they are from, beside the nationalities.
ORIGINS = frozenset(
    (
        "African Ancient and Anglo born Florentine Franco Genevan Hindustani Serbian Taiwanese U.S. Venetian Yugoslav"
    ).split()
)
# The field in which a name means a thing of this kind. Fields that titles have in brackets go first: "Extinction
# (astronomy)".
FIELDS = frozenset(
    (
        "anatomy astronomy biology botany chemistry economics finance law mathematics mechanics music mythology "
        "physics zoology"
    ).split()
)
FIELD_KINDS = {
    "anatomy": "anatomical-structure hair",
    "art": "statue",
    "astronomy": "planet star",
    "biology": "biomolecule process response",
    "botany": "fruit plants",
    "business": "conglomerate",
    "chemistry": "compound element material",
    "cinema": "film",
    "computing": "programming-language",
    "ecology": "rainforest",
    "economics": "market-structure",
    "engineering": "fastener machine",
    "fiction": "genre",
    "finance": "contract",
    "food": "pork",
    "geography": "capital city country",
    "geology": "hill mineral rock",
    "history": "empire",
    "hydrology": "river",
    "journalism": "magazine",
    "leisure": "game toy",
    "law": "institution relationship",
    "linguistics": "transfer writing-system",
    "literature": "book novel",
    "mathematics": "algebraic-structure rate surface",
    "meteorology": "coating precipitation",
    "music": "album band instrument oratorio sequence",
    "mythology": "bird character deity god goddess",
    "nutrition": "liquid nutrient",
    "optics": "color colour",
    "pharmacology": "drug ingredient",
    "philosophy": "community philosophical-work",
    "physical geography": "island",
    "physics": "progression quantity",
    "politics": "government",
    "recreation": "sport",
    "religion": "figure head liberation saviour",
    "science": "journal",
    "society": "association",
    "spaceflight": "station",
    "war": "weapon",
    "woodworking": "tool",
    "zoology": "apes birds canine insects mammals plate",
}
FIELD_OF_KIND = {kind: field for field, kinds in FIELD_KINDS.items() for kind in kinds.split()}
PLURAL_KINDS = frozenset("birds insects mammals plants".split())
MASS_KINDS = frozenset("hair liberation precipitation".split())
# A thing of these kinds has a proper name.
PROPER_KINDS = frozenset(
    (
        "album band book capital character city conglomerate country deity empire figure film game god goddess island "
        "journal magazine novel oratorio philosophical-work planet programming-language rainforest river star station "
        "statue"
    ).split()
)
# Too vague, or too often inside other words ("star" stands in "start"), to be an answer by themselves.
NO_ANSWERS = frozenset("band book head host leader officer plate player rate star tool".split())
# First words of what a person was that are offices rather than professions.
RANKS = frozenset("Dictator Duke Emir Founder Head".split())
# First words of descriptions that keep their capital in a sentence, beside the nationalities.
CAPITALS = frozenset("Biblical Christian Founding North Renaissance Roman".split())
