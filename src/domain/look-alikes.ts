/** Text that reads as other text: letters, digits and signs of one script that look like those of another. */

/** Scripts with letters that pass for Latin ones, and for each other's. Mixed in one word they deceive. */
const DECEPTIVE = scriptTests(
  'Cyrl Grek Armn Cher Copt Lisu Dsrt Osge Geor Tfng Cans Vaii Nkoo Runr Goth Ital Glag Bamu Wara Cari Lyci Lydi Aghb Elba Perm Medf Plrd',
)
const LATIN = /\p{Script=Latin}/u
const CJK_SCRIPTS =
  '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Hangul}\\p{Script=Bopomofo}'
const CJK = new RegExp(`[${CJK_SCRIPTS}]`, 'u')
/** One letter of whatever other alphabet within a Latin word; Chinese, Japanese and Korean are written so. */
const AMONG_LATIN = new RegExp(
  `\\p{Script=Latin}\\p{M}*(?![${CJK_SCRIPTS}\\p{Script=Latin}\\p{Script=Common}\\p{Script=Inherited}])\\p{L}\\p{M}*\\p{Script=Latin}`,
  'u',
)

/** Greek signs as science writes them: a prefix, a unit, a name with an index. */
const SCIENTIFIC = /^\p{N}*(?:[ΔΣΠΩΛΘΦΨΞΓπλθφψδσβγωεμτ][A-Za-z0-9]{0,4}|[kMGm]?Ω)$/u

/** Whole words of these letters read as Latin; a text of the script has others, too. */
const PASSES_FOR_LATIN: readonly (readonly [script: RegExp, letters: RegExp])[] = [
  [/\p{Script=Cyrillic}/u, /^[аеорсухкіјѕһԁԛԝӏАВЕКМНОРСТУХЅІЈԌԚԜҮ]+$/u],
  [/\p{Script=Greek}/u, /^[αβγικνορτυχωΑΒΕΖΗΙΚΜΝΟΡΤΥΧϲϳ]+$/u],
  [/\p{Script=Armenian}/u, /^[օսհոցզաքյգվՏՍԼՕՀ]+$/u],
  [/\p{Script=Cherokee}/u, /^[ᎠᎡᎢᎥᎩᎪᎫᎬᎳᎷᎻᎽᏀᏂᏃᏙᏎᏏᏒᏔᏕᏙᏚᏞᏟᏢᏦᏧᏴᏳᏆᏓᏗᏅ]+$/u],
  [/\p{Script=Lisu}/u, /^[ꓐꓑꓒꓓꓔꓖꓗꓙꓚꓜꓝꓟꓠꓡꓢꓣꓦꓧꓪꓫꓬꓮꓰꓲꓳꓴ]+$/u],
]
/** Letters of no living alphabet that matters, and look-alikes beyond doubt. */
const NEVER_INNOCENT = /[ӏԁԛԝ]/u

export function mixesScripts(word: string): boolean {
  if (word.length < 2) return false
  const found = DECEPTIVE.filter((script) => script.test(word)).length
  if (found === 0) return AMONG_LATIN.test(word)
  return found > 1 || (LATIN.test(word) && !SCIENTIFIC.test(word))
}

/** Whether the text has letters of a script (an index above) that do not pass for Latin ones: looked up once for each script, in whatever many words. */
export function othersIn(text: string): (script: number) => boolean {
  const known: boolean[] = []
  return (index) => {
    const [script, letters] = PASSES_FOR_LATIN[index] as (typeof PASSES_FOR_LATIN)[number]
    return (known[index] ??= Array.from(text).some((one) => script.test(one) && !letters.test(one)))
  }
}

/** How a word stands to ASCII letters and digits: by itself, as an ending or a prefix of theirs (`JPEG-а`), or as a part of what they spell. */
export type Standing = 'alone' | 'affix' | 'glued'

/** A word that reads as a Latin one but is none: alone, glued to ASCII, or with letters that nobody needs. */
export function passesForLatin(
  word: string,
  standing: Standing,
  hasOthers: (script: number) => boolean,
): boolean {
  if ((word.length < 2 && standing === 'alone') || LATIN.test(word)) return false
  const script = PASSES_FOR_LATIN.findIndex(([, letters]) => letters.test(word))
  return script !== -1 && (standing === 'glued' || NEVER_INNOCENT.test(word) || !hasOthers(script))
}

/** Letters and signs that stand for plain ones wherever they are. */
const ALWAYS =
  /(?<!\p{Script=Armenian})\u2024|[\ufb00-\ufb06]|[\u0261\u0251\u017f\u01c0\u01c1\u01c3\u0274\u0280\u029c\u029f\u0262\u026a\u028f\u0299\ua730\ua731\u1d00-\u1d22]|[\u{1d400}-\u{1d7ff}]|[\u249c-\u24e9\u{1f110}-\u{1f16f}\u{1f172}-\u{1f17d}]|[\u2100-\u2102\u210a-\u2115\u2118-\u211d\u2124-\u2138\u2145-\u2149]|[\u2044\u2215\u29f8\u2571\u2572\u29f5\u2216\u2e80-\u2fdf\ufe50-\ufe6f\u037e\u0387\u1fef\u2000\u2001]|[\u212a\u212b]/u
/** The slash of a fraction, between digits. */
const FRACTIONS = /(?<=[\p{Nd}])\u2044(?=\p{Nd})/gu
/** Signs of other scripts that pass for ASCII ones when ASCII surrounds them. */
const BETWEEN_ASCII =
  /(?<=[!-~])[\u02d0\u02f8\u0589\u05c3\u2236\ua789\ufe55\u06d4\u060c\u066a-\u066c\u201a\u3002\uff61\u30fb\uff65\uff0e\uff0f\uff3c\uff3f\uff0d\uff1d\uff06\uff20\u30ce\u4e3f\u4e28\u3163\u3147\u3007\u3161]+(?=[!-~])/u
/** What a shell or a name would have as `-`, `*`, `~`, `.`, `|` or `/`. */
const AS_ASCII =
  /(?:^|\s)[\u2010-\u2013\u2212\u2043](?:[a-z]{1,3}(?![^\s=])|[\u2010-\u2013\u2212\u2043][a-z])|[/.~]\u2217|\u2217[./]|[/.]\u204e|(?:^|\s)[\u02dc\u2053\u223c]\/|[A-Za-z0-9][\u2022\u2027\u2e31\u2e33\ua78f][A-Za-z]|[A-Za-z0-9][\u2219\u22c5][A-Za-z]{3}|[A-Za-z0-9][\u00b7\u2219\u22c5](?:com|org|net|io|dev|app|eu|co|exe|sh|py|js|txt|pdf)\b|[!-~] ?[\u05c0\u2223\u23d0\u2758\u2d4f\uffe8] ?[!-~]|[A-Za-z0-9:][\u1735\u29f9\u2cc6\u3033\u31d3]/u
/** A time as typographers set it. */
const TIMES = /(?<![\p{N}.])\p{Nd}{1,2}(?:\u2236\p{Nd}{1,2}){1,2}(?![\p{N}.])/gu
/** Capitals and numbers joined as Chinese, Japanese and Korean join them: `Q＆A`, `R・G・B`. */
const JOINED_IN_CJK =
  /(?<![!-~])[A-Z0-9][A-Za-z0-9]*(?:[\u30fb\uff06\uff0d\uff0f\uff65][A-Z0-9][A-Za-z0-9]*)+(?![!-~])/gu
/** Roman numerals as letters of a word, full-width forms among ASCII. */
const IN_ASCII_WORDS =
  /[A-Za-z0-9][\u2160-\u217f\uff10-\uff19\uff21-\uff3a\uff41-\uff5a]|[\u2160-\u217f\uff10-\uff19\uff21-\uff3a\uff41-\uff5a][A-Za-z0-9]/u
/** Without those of money: ￥ is how it is written. */
const FULL_WIDTH = /[\uff01-\uff5e\uffe2-\uffe4]/u
const NUMBER_SIGNS = /[\u00bc-\u00be\u2150-\u2189\u2460-\u249b]/u
/** A letter of an old alphabet and a mark that NFC would make one character. */
const DECOMPOSED = /[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}]\p{M}+/gu

export function looksLikeOthers(text: string): boolean {
  const inCjk = CJK.test(text)
  const bare = (inCjk ? text.replace(JOINED_IN_CJK, '') : text).replace(TIMES, '')
  return (
    ALWAYS.test(text.replace(FRACTIONS, '/')) ||
    BETWEEN_ASCII.test(bare) ||
    AS_ASCII.test(text) ||
    IN_ASCII_WORDS.test(text) ||
    (FULL_WIDTH.test(text) && !inCjk) ||
    (NUMBER_SIGNS.test(text) && !/\p{L}/u.test(text)) ||
    hasOddFlags(text)
  )
}

export function isDecomposed(text: string): boolean {
  return [...text.matchAll(DECOMPOSED)].some(([cluster]) => cluster.normalize('NFC') !== cluster)
}

/** Regional indicators are letters; only flags of countries are more than that (v flag: newer than the language level of this program). */
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

/** Digits of a script in a text that has no letter of it, or ASCII digits and others in one number. */
export function hasForeignDigits(text: string): boolean {
  if (/[0-9][^\P{Nd}0-9]|[^\P{Nd}0-9][0-9]/u.test(text)) return true
  const digits = text.match(/[^\P{Nd}0-9]/gu) ?? []
  if (digits.length === 0) return false
  const letters = new Set((text.match(/\p{L}/gu) ?? []).map(neighbourhood))
  return digits.some(
    (digit) => !(/[\uff10-\uff19]/.test(digit) ? CJK.test(text) : letters.has(neighbourhood(digit))),
  )
}

/** Unicode keeps the letters and digits of a script within the same 256 code points. */
const neighbourhood = (character: string): number => (character.codePointAt(0) ?? 0) >> 8

function scriptTests(names: string): RegExp[] {
  return names.split(' ').map((name) => new RegExp(`\\p{Script=${name}}`, 'u'))
}
