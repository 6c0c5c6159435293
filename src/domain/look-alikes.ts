/**
 * Detects text that readers mistake for other text, because its characters look like those of another script.
 */
import { toNfc } from './normal-form.ts'

/**
 * Scripts with letters that look like Latin letters, and like letters of each other. Words that mix these letters are
 * deceptive.
 */
const DECEPTIVE = scriptTests(
  'Cyrl Grek Armn Cher Copt Lisu Dsrt Osge Geor Tfng Cans Vaii Nkoo Runr Goth Ital Glag Bamu Wara Cari Lyci Lydi Aghb Elba Perm Medf Plrd',
)
const LATIN = /\p{Script=Latin}/u
const CJK_SCRIPTS =
  '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Hangul}\\p{Script=Bopomofo}'
const CJK_SIGNS = ['Hani', 'Hira', 'Kana', 'Hang', 'Bopo', 'Yiii'].map((name) => `\\p{scx=${name}}`).join('')
const CJK = new RegExp(`[${CJK_SCRIPTS}]`, 'u')
/**
 * Matches one letter of any other alphabet within a Latin word, or the same letter twice (`gഠഠgle`). Two different
 * letters are accepted, because Thai joins two Latin words with them. Chinese, Japanese and Korean letters are
 * accepted, because normal writing mixes them with Latin.
 */
const AMONG_LATIN = new RegExp(
  `\\p{Script=Latin}\\p{M}*((?![${CJK_SCRIPTS}\\p{Script=Latin}\\p{Script=Common}\\p{Script=Inherited}])\\p{L}\\p{M}*)\\1?\\p{Script=Latin}`,
  'u',
)

/**
 * Greek letters in scientific notation: a prefix, a unit, a name with an index, or a member of a family (`TGFβ1`).
 * Greek letters that look like Latin letters must not start a longer word.
 */
const SCIENTIFIC =
  /^\p{N}*(?:[ΔΣΠΩΛΘΦΨΞΓπλθφψδμ][A-Za-z\p{N}]{0,4}|[σβγωετ](?:[A-Za-z\p{N}]{0,2}|max|min)|[kMGm]?Ω|[a-z]π|κB|[A-Z]{2,5}[αβγδεκ][0-9]?)$/u
/** A Greek affix: `TNF-α`, `β-carotene`. */
const GREEK_AFFIX = /^\p{N}?[αβγκνχ]$/u

/**
 * Letters that readers take for Latin letters when a whole word consists of them. Normal text in that script also
 * contains other letters.
 */
const PASSES_FOR_LATIN: readonly (readonly [script: RegExp, letters: RegExp])[] = [
  [/\p{Script=Cyrillic}/u, /^[аеорсухкіјѕһԁԛԝӏАВЕКМНОРСТУХЅІЈԌԚԜҮ]+$/u],
  [/\p{Script=Greek}/u, /^[αβγικνορτυχωΑΒΕΖΗΙΚΜΝΟΡΤΥΧϲϳ]+$/u],
  [/\p{Script=Armenian}/u, /^[օսհոցզաքյգվՏՍԼՕՀ]+$/u],
  [/\p{Script=Cherokee}/u, /^[ᎠᎡᎢᎥᎩᎪᎫᎬᎳᎷᎻᎽᏀᏂᏃᏙᏎᏏᏒᏔᏕᏙᏚᏞᏟᏢᏦᏧᏴᏳᏆᏓᏗᏅ]+$/iu],
  [/\p{Script=Lisu}/u, /^[ꓐꓑꓒꓓꓔꓖꓗꓙꓚꓜꓝꓟꓠꓡꓢꓣꓦꓧꓪꓫꓬꓮꓰꓲꓳꓴ]+$/u],
  [/\p{Script=Coptic}/u, /^[ⲀⲂⲈⲎⲒⲔⲘⲚⲞⲟⲢⲣⲤⲥⲦⲬⲭⲨ]+$/u],
]
/** Letters of rare alphabets that are always look-alikes. */
const NEVER_INNOCENT = /[ӏԁԛԝ]/u

export function mixesScripts(word: string): boolean {
  if (word.length < 2) return false
  const found = DECEPTIVE.filter((script) => script.test(word)).length
  if (found === 0) return AMONG_LATIN.test(word)
  return found > 1 || (LATIN.test(word) && !SCIENTIFIC.test(word))
}

/**
 * True when the text has letters of a script (an index in the list above) that do not look Latin. Computed once for
 * each script.
 */
export function othersIn(text: string): (script: number) => boolean {
  const known: boolean[] = []
  return (index) => {
    const [script, letters] = PASSES_FOR_LATIN[index] as (typeof PASSES_FOR_LATIN)[number]
    return (known[index] ??= Array.from(text).some((one) => script.test(one) && !letters.test(one)))
  }
}

/**
 * The relation of a word to adjacent ASCII letters and digits: separate, an ending or a prefix (`JPEG-а`), or a part of
 * the same word.
 */
export type Standing = 'alone' | 'affix' | 'glued'

/**
 * A letter that looks like a zero or a one. Such a letter is deceptive between digits, and next to a digit when the
 * text has no other letter of its script.
 */
const AMONG_DIGITS = /[0-9][ОоІӀΟοΙՕօ][0-9]/u
const BESIDE_DIGITS = /[0-9][ОоІӀΟοΙՕօ]|[ОоІӀΟοΙՕօ][0-9]/u

/** True for a word of one foreign script that looks like a Latin word or a number. */
export function passesForLatin(
  word: string,
  standing: Standing,
  hasOthers: (script: number) => boolean,
): boolean {
  if (LATIN.test(word) || isName(word, standing)) return false
  const letters = word.replace(/[0-9]/g, '')
  const script = PASSES_FOR_LATIN.findIndex(([, passing]) => passing.test(letters))
  if (script === -1) return false
  return (
    (standing === 'glued' && letters === word) ||
    NEVER_INNOCENT.test(word) ||
    AMONG_DIGITS.test(word) ||
    !hasOthers(script)
  )
}

/** True for a single letter, alone or with separate numbers: `A`, `А4`, `TNF-α`. */
function isName(word: string, standing: Standing): boolean {
  if (standing === 'alone' ? word.length < 2 : GREEK_AFFIX.test(word)) return true
  return /[0-9]/.test(word) && /^[0-9]*[^0-9][0-9]*$/u.test(word) && !BESIDE_DIGITS.test(word)
}

/** Letters and symbols that look like ASCII characters in any place. */
const ALWAYS =
  /(?<!\p{Script=Armenian})\u2024|[\ufb00-\ufb06]|[\u0237\u0261\u0251\u017f\u01c0\u01c1\u01c3\u0274\u0280\u029c\u029f\u0262\u026a\u028f\u0299\ua730\ua731\u1d00-\u1d22]|[\u{1d400}-\u{1d7ff}]|\u24c2(?!\ufe0f)|[\u249c-\u24c1\u24c3-\u24e9\u{1f110}-\u{1f16f}\u{1f172}-\u{1f17d}]|[\u2100-\u2102\u210a-\u2115\u2118-\u211d\u2124-\u2138\u2145-\u2149]|[\u2044\u2215\u29f8\u2571\u2572\u29f5\u2216\u2e80-\u2fdf\ufe50-\ufe6f\u037e\u0387\u1fef\u2000\u2001]|[\u212a\u212b]|[\u0184\u0185\u01a7\u01a8\u01bc\u01bd\u02c2-\u02c4\u02d7\u268a\u268c\u29f6\u2afb\ua778\ua78a\u{1d20f}\u{1d236}-\u{1d23b}\u{1f674}]/u
/**
 * Phonetic transcriptions, whose letters are look-alikes of ASCII elsewhere. Transcriptions are between slashes or
 * brackets and contain a symbol that only phonetics uses.
 */
const TRANSCRIPTIONS =
  /(?<![\p{L}\p{N}])(?=[/[][^/\]\d]{0,40}[ˈˌːəɛɔʃʒθðŋʊʌæ])(?:\/[\p{L}\p{M}ˈˌː. ]{1,40}\/|\[[\p{L}\p{M}ˈˌː. ]{1,40}\])(?![\p{L}\p{N}])/gu
/** Symbols of sets of numbers, as single letters. */
const NUMBER_SETS = /(?<![\p{L}\p{N}])[ℂℍℕℙℚℝℤ](?![\p{L}\p{N}])/gu
/** The slash of a fraction, between digits. */
const FRACTIONS = /(?<=[\p{Nd}])\u2044(?=\p{Nd})/gu
/** Symbols of all scripts that look like ASCII symbols when they are between ASCII characters. */
const BETWEEN_ASCII =
  /(?<=[!-~])[\u02d0\u02f8\u0589\u05c3\u06d4\u2017\u205a\u2236\u23bd\u2581\u27cb\u27cd\ua4fd\ua789\ufe10-\ufe19\ufe30-\ufe34\ufe4d\ufe4e\ufe55\u060c\u066a-\u066c\u201a\u3002\uff61\u30fb\uff65\uff0e\uff0f\uff3c\uff3f\uff0d\uff1d\uff06\uff20\u30ce\u4e3f\u4e28\u3163\u3147\u3007\u3161]+(?=[!-~])/u
const SHARED = '\\p{Sc}\\p{scx=Zyyy}\\p{scx=Zinh}\\p{scx=Latn}'
/** Symbols of another script between ASCII characters, or marks of another script on ASCII characters. */
const FOREIGN_IN_ASCII = new RegExp(
  `(?<=[!-~])(?:(?![${SHARED}${CJK_SIGNS}])[\\p{P}\\p{S}\\p{Lm}](?=[!-~])|(?![${SHARED}])\\p{M})`,
  'gu',
)
/** Arabic number signs, which are accepted in Arabic text. */
const ARABIC_NUMBERS = /(?<=[0-9])(?:[\u066b\u066c](?=[0-9])|\u066a(?![A-Za-z0-9]))/gu
/**
 * Chinese, Japanese and Korean characters that look like ASCII characters. They are deceptive next to ASCII, in a
 * string without other characters of these scripts: `rm 一rf`, `1〇0`.
 */
const LIKE_ASCII = '[一ー二ニ三ㅡ丨ㅣ口ロㅁ工エ卜八ハ〇ㅇ으ᅵ丶ノ丿へヘ乂丅力乙]'
const CJK_AS_ASCII = new RegExp(`[A-Za-z0-9/.~]${LIKE_ASCII}|${LIKE_ASCII}[A-Za-z0-9/.~]`, 'u')
const OTHER_CJK = new RegExp(`(?!${LIKE_ASCII})${CJK.source}`, 'u')
/** Letters that look like the shell's `<` and `>` in a string without other letters of their scripts. */
const AS_ARROWS = /(?:^|[\s0-9&])[\u1433\u1438\u16b2](?!\S)/u
const OTHERS_OF_ARROWS = /(?![\u1433\u1438\u16b2])[\p{Script=Cans}\p{Script=Runr}]/u
/** Two dots in one separate character. In Japanese, several of these characters in a row mark an omission. */
const AS_PARENT = /(?:^|[\s./])\u2025(?!\S)/u
/** Signs that look like the `-`, `*`, `~`, `.`, `|` or `/` of a shell or a name. */
const AS_ASCII = new RegExp(
  [
    '(?:^|\\s)[\\u2010-\\u2013\\u2015\\u207b\\u2212\\u2043](?:[a-z]{1,3}(?![^\\s=])|[\\u2010-\\u2013\\u2015\\u207b\\u2212\\u2043][a-z])',
    '(?:^|\\s)[\\u05be\\u1400\\u1806\\u2796\\u2cba\\u23af\\u2500]{1,2}[a-z]',
    '[/.~][\\u2217\\u066d]|[\\u2217\\u204e\\u066d][./]|[/.]\\u204e',
    '(?:^|\\s)[\\u02dc\\u1fc0\\u2053\\u223c\\u223d\\u301c]\\/',
    '(?:^|[\\s./])[\\u00b7\\u2022\\u2027\\u2219\\u22c5\\u30fb\\u06d4\\u3002\\uff61]{1,2}\\/',
    '(?:^|[\\s./])\\u2025\\/',
    '[0-9]\\.[0-9]{1,3}\\.[0-9]{1,3}[\\u00b7\\u2219\\u22c5][0-9]',
    '[A-Za-z0-9][\\u2022\\u2027\\u2e31\\u2e33\\ua78f][A-Za-z0-9]',
    '[A-Za-z0-9][\\u2219\\u22c5][A-Za-z]{3}',
    '[A-Za-z0-9][\\u00b7\\u2219\\u22c5](?:com|org|net|io|dev|app|eu|co|exe|sh|py|js|txt|pdf)\\b',
    // excludes the Catalan double l, and French words for both genders
    '[A-Za-z0-9]\\u00b7(?!l|(?:[a-z]es|t?rices?|euses?|eresses?|esses?|i?ennes?|onnes?|elles?|ines?|ales?|e?aux)\\b)[a-z]{3}',
    '[!-~] ?[\\u05c0\\u2223\\u23d0\\u23fd\\u2758\\u2d4f\\uffe8]{1,2} ?[!-~]',
    '[A-Za-z0-9:][\\u1735\\u29f9\\u2cc6\\u3033\\u31d3]',
    // in a host name
    '(?::\\/\\/|[A-Za-z0-9]@)[A-Za-z0-9.-]*[\\u05be\\u2010-\\u2015\\u2043\\u2212][A-Za-z0-9]',
    ':\\/\\/[A-Za-z0-9.-]*[\\u2460-\\u249b\\u24ea-\\u24ff\\u2776-\\u2793\\u{1f100}-\\u{1f10c}]',
    // superscript letters that begin or form a word, squared letters, circled numbers next to other numbers
    '(?<![\\p{L}\\p{M}\\p{N}])[\\u02b0-\\u02b8\\u02e1-\\u02e3\\u1d2c-\\u1d6a\\u1d9c-\\u1dbf\\u2071\\u207f\\u2090-\\u209c](?:[A-Za-z]{2}|[\\u02b0-\\u02b8\\u02e1-\\u02e3\\u1d2c-\\u1d6a\\u1d9c-\\u1dbf\\u2071\\u207f\\u2090-\\u209c]{2})',
    '[\\u24c2\\u{1f170}\\u{1f171}\\u{1f17e}\\u{1f17f}]\\ufe0f?[A-Za-z]',
    '[\\u24ea-\\u24ff\\u2776-\\u2793\\u{1f100}-\\u{1f10c}][0-9]|[0-9][\\u24ea-\\u24ff\\u2776-\\u2793\\u{1f100}-\\u{1f10c}]',
  ].join('|'),
  'u',
)
/** A time in typographic spelling. */
const TIMES = /(?<![\p{N}.])\p{Nd}{1,2}(?:\u2236\p{Nd}{1,2}){1,2}(?![\p{N}.])/gu
/** Capitals and numbers joined by Chinese, Japanese and Korean punctuation: `Q＆A`, `R・G・B`. */
const JOINED_IN_CJK =
  /(?<![!-~])[A-Z0-9][A-Za-z0-9]*(?:[\u30fb\uff06\uff0d\uff0f\uff65][A-Z0-9][A-Za-z0-9]*)+(?![!-~])/gu
/**
 * The end of a sentence before a Latin word, without a space between them. Within a host name, this character acts as a
 * dot.
 */
const SENTENCES_IN_CJK = /(?<!(?::\/\/|@)[A-Za-z0-9.-]*)[\u3002\uff61](?=[A-Z])/gu
/** Roman numerals as letters of a word, or full-width forms among ASCII. */
const IN_ASCII_WORDS =
  /[A-Za-z0-9][\u2160-\u217f\uff10-\uff19\uff21-\uff3a\uff41-\uff5a]|[\u2160-\u217f\uff10-\uff19\uff21-\uff3a\uff41-\uff5a][A-Za-z0-9]/u
/** Full-width forms except currency symbols, because ￥ is the usual form. */
const FULL_WIDTH = /[\uff01-\uff5e\uffe2-\uffe4]/u
const NUMBER_SIGNS =
  /[\u00bc-\u00be\u2150-\u2189\u2460-\u249b\u24ea-\u24ff\u2776-\u2793]|(?<![\p{N})\]]|[\p{N})\]][\u207a\u207b])[\u00b2\u00b3\u00b9\u2070-\u2089]/u
/** A letter of an old alphabet with a mark that NFC would compose. */
const DECOMPOSED = /[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}]\p{M}+/gu

/** Symbols that are harmless when the text also has letters of their script. */
const AWAY_FROM_HOME: readonly (readonly [signs: RegExp, home: RegExp])[] = [
  [CJK_AS_ASCII, OTHER_CJK],
  [AS_ARROWS, OTHERS_OF_ARROWS],
  [AS_PARENT, CJK],
  [FULL_WIDTH, CJK],
  [NUMBER_SIGNS, /\p{L}/u],
]

export function looksLikeOthers(text: string): boolean {
  return (
    AS_ASCII.test(text) ||
    IN_ASCII_WORDS.test(text) ||
    hasForeign(text, FOREIGN_IN_ASCII) ||
    AWAY_FROM_HOME.some(([signs, home]) => signs.test(text) && !home.test(text)) ||
    passesUnlessAtHome(text) ||
    hasOddFlags(text)
  )
}

/** Tests the text without the symbols that are normal in its scripts. */
function passesUnlessAtHome(text: string): boolean {
  const words = text.replace(TRANSCRIPTIONS, ' ')
  if (ALWAYS.test(words.replace(FRACTIONS, '/').replace(NUMBER_SETS, ' '))) return true
  const inCjk = CJK.test(text)
  const bare = inCjk ? words.replace(JOINED_IN_CJK, '').replace(SENTENCES_IN_CJK, ' ') : words
  const inArabic = /(?=\p{L})\p{Script=Arabic}/u.test(text)
  return BETWEEN_ASCII.test((inArabic ? bare.replace(ARABIC_NUMBERS, ' ') : bare).replace(TIMES, ''))
}

export function isDecomposed(text: string): boolean {
  return [...text.matchAll(DECOMPOSED)].some(([cluster]) => toNfc(cluster) !== cluster)
}

/**
 * Regional indicators are letters; only country flags combine them (v flag: newer than this program's language level).
 */
const FLAGS = new RegExp('\\p{RGI_Emoji_Flag_Sequence}', 'gv')
/** Flags of no ISO country: Ascension, Clipperton, Sark, Diego Garcia, Ceuta, Canaries, Tristan da Cunha. */
const NO_COUNTRY = ['AC', 'CP', 'CQ', 'DG', 'EA', 'IC', 'TA']

function hasOddFlags(text: string): boolean {
  if (!/\p{Regional_Indicator}/u.test(text)) return false
  const rest = text.replace(FLAGS, (flag) => (NO_COUNTRY.includes(lettersOf(flag)) ? flag : ''))
  return /\p{Regional_Indicator}/u.test(rest)
}

const lettersOf = (flag: string): string =>
  Array.from(flag, (one) => String.fromCharCode((one.codePointAt(0) ?? 0) - 0x1f1e6 + 65)).join('')

/**
 * True for digits of a script in a string without letters of that script, or for ASCII and other digits in one number.
 */
export function hasForeignDigits(text: string): boolean {
  if (/[0-9][^\P{Nd}0-9]|[^\P{Nd}0-9][0-9]/u.test(text)) return true
  if (/[\uff10-\uff19]/.test(text) && !CJK.test(text)) return true
  return hasForeign(text, /[^\P{Nd}0-9\uff10-\uff19]/gu)
}

/** True when the text has one of these characters and no letter of that character's script. */
function hasForeign(text: string, characters: RegExp): boolean {
  const found = text.match(characters) ?? []
  if (found.length === 0) return false
  const letters = new Set((text.match(/\p{L}/gu) ?? []).map(neighbourhood))
  return found.some((one) => !letters.has(neighbourhood(one)))
}

/** The block of 256 code points in which Unicode groups a script's letters, digits and symbols. */
const neighbourhood = (character: string): number => (character.codePointAt(0) ?? 0) >> 8

function scriptTests(names: string): RegExp[] {
  return names.split(' ').map((name) => new RegExp(`\\p{Script=${name}}`, 'u'))
}
