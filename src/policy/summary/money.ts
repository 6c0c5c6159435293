import { remember } from '../language/remember.ts'

/**
 * The currencies of ISO 4217. Decimals follow the standard, which payment systems use to count minor units. The data of
 * `Intl` differs from the standard for some currencies, and between versions.
 */
const CURRENCIES = new Set(
  `AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF
  CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF
  IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK
  MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR
  SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD UYU UZS VED
  VES VND VUV WST XAF XCD XOF XPF YER ZAR ZMW ZWG`.split(/\s+/),
)
const USUAL_DECIMALS = 2
const DECIMALS: Readonly<Record<string, number>> = Object.fromEntries([
  ...'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF'.split(' ').map((code) => [code, 0]),
  ...'BHD IQD JOD KWD LYD OMR TND'.split(' ').map((code) => [code, 3]),
])

const formats = new Map<string, Intl.NumberFormat>()

/** Currencies that payment systems count in more than one way. */
const COUNTED_DIFFERENTLY = new Set('CLP COP CVE HUF IDR ISK TWD UGX'.split(' '))

/** The decimals that a tool counts: of every currency, or of each that is named. */
export type Decimals = number | Readonly<Record<string, number>>

/** True for a currency whose decimals a contract should state. */
export const needsDecimals = (currency: string): boolean => {
  const code = currency.toUpperCase()
  return COUNTED_DIFFERENTLY.has(code) || Object.hasOwn(DECIMALS, code)
}

/** Formats minor units: 25000 of `usd` is `$250.00`. Undefined for an unknown currency or an unsafe integer. */
export function formatMoney(minorUnits: number, currency: string, stated: Decimals = {}): string | undefined {
  const code = currency.toUpperCase()
  if (!CURRENCIES.has(code) || !Number.isSafeInteger(minorUnits)) return undefined
  const own = typeof stated === 'number' ? stated : stated[code]
  const decimals = own ?? DECIMALS[code] ?? USUAL_DECIMALS
  return formatOf(code, decimals)
    .format(decimal(minorUnits, decimals))
    .replaceAll(/[\u00a0\u202f]/g, ' ')
}

function formatOf(currency: string, digits: number): Intl.NumberFormat {
  return remember(
    formats,
    `${currency} ${digits}`,
    () =>
      new Intl.NumberFormat('en', {
        style: 'currency',
        currency,
        minimumFractionDigits: digits,
        maximumFractionDigits: digits,
      }),
  )
}

/** Shifts the decimal point in the text, because division would round numbers near 2^53. */
function decimal(units: number, decimals: number): `${number}` {
  const digits = String(Math.abs(units)).padStart(decimals + 1, '0')
  const whole = digits.slice(0, digits.length - decimals)
  const sign = units < 0 ? '-' : ''
  return `${sign}${whole}${decimals === 0 ? '' : `.${digits.slice(-decimals)}`}` as `${number}`
}
