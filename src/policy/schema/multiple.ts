/**
 * Tests multiples of a step (`multipleOf`), both in decimal notation: division of doubles fails for 19.99 and 0.01.
 * Integers make it exact. The step is above 0.
 */
export function isMultiple(value: number, step: number): boolean {
  const [a, b] = alike(value, step)
  return a.digits % b.digits === 0n
}

/** Returns the least multiple above a number; undefined when it is not a double. */
export function nextMultiple(step: number, above: number): number | undefined {
  if (step === 1 && Math.abs(above) < Number.MAX_SAFE_INTEGER) return Math.floor(above) + 1
  const [a, b] = alike(above, step)
  const over = a.digits - (((a.digits % b.digits) + b.digits) % b.digits)
  return doubleOf({ ...b, digits: over + b.digits })
}

/** Returns the step of the common multiples of both; undefined when it is not a double. */
export function commonStep(one: number, other: number): number | undefined {
  const [a, b] = alike(one, other)
  return doubleOf({ ...a, digits: (a.digits * b.digits) / greatestDivisor(a.digits, b.digits) })
}

function greatestDivisor(a: bigint, b: bigint): bigint {
  return b === 0n ? a : greatestDivisor(b, a % b)
}

interface Decimal {
  readonly digits: bigint
  readonly exponent: number
}

/** Returns two numbers with one exponent. */
function alike(one: number, other: number): readonly [Decimal, Decimal] {
  const [a, b] = [decimalOf(one), decimalOf(other)]
  const exponent = Math.min(a.exponent, b.exponent)
  return [scaled(a, exponent), scaled(b, exponent)]
}

/** The shortest decimal that is this double (ECMA-262). */
function decimalOf(value: number): Decimal {
  const [mantissa = '', exponent = '0'] = String(value).split('e')
  const [whole = '', fraction = ''] = mantissa.split('.')
  return { digits: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length }
}

const scaled = ({ digits, exponent }: Decimal, lowest: number): Decimal => ({
  digits: digits * 10n ** BigInt(exponent - lowest),
  exponent: lowest,
})

/** Returns the double that this decimal denotes; undefined when no double does. */
function doubleOf(decimal: Decimal): number | undefined {
  const double = Number(`${decimal.digits}e${decimal.exponent}`)
  if (!Number.isFinite(double)) return undefined
  const written = decimalOf(double)
  const lowest = Math.min(written.exponent, decimal.exponent)
  return scaled(written, lowest).digits === scaled(decimal, lowest).digits ? double : undefined
}
