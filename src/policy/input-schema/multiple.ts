/**
 * Is the number a multiple of the step, as both are written in decimal? A division of doubles says that 19.99 is none of 0.01. Exact, because it
 * computes with integers; `step` is above 0.
 */
export function isMultiple(value: number, step: number): boolean {
  const [a, b] = [decimalOf(value), decimalOf(step)]
  const lowest = Math.min(a.exponent, b.exponent)
  return scaled(a, lowest) % scaled(b, lowest) === 0n
}

interface Decimal {
  readonly digits: bigint
  readonly exponent: number
}

/** The shortest decimal that is this double (ECMA-262). */
function decimalOf(value: number): Decimal {
  const [mantissa = '', exponent = '0'] = String(value).split('e')
  const [whole = '', fraction = ''] = mantissa.split('.')
  return { digits: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length }
}

const scaled = ({ digits, exponent }: Decimal, lowest: number): bigint =>
  digits * 10n ** BigInt(exponent - lowest)
