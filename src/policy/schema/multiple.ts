/**
 * Tests whether a number is a multiple of a step (`multipleOf`), which is above 0. The test compares decimals as
 * integers and is exact; dividing doubles fails for 19.99 and 0.01.
 */
export function isMultiple(value: number, step: number): boolean {
  const [a, b] = alike(value, step)
  return a.digits % b.digits === 0n
}

/** Returns the smallest multiple above a number; undefined when no double equals it. */
export function nextMultiple(step: number, above: number): number | undefined {
  if (step === 1 && Math.abs(above) < Number.MAX_SAFE_INTEGER) return Math.floor(above) + 1
  const [a, b] = alike(above, step)
  const over = a.digits - (((a.digits % b.digits) + b.digits) % b.digits)
  return doubleOf({ ...b, digits: over + b.digits })
}

/** Returns the least common multiple of two steps; undefined when no double equals it. */
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

/** Returns both numbers as decimals with the same exponent. */
function alike(one: number, other: number): readonly [Decimal, Decimal] {
  const [a, b] = [decimalOf(one), decimalOf(other)]
  const exponent = Math.min(a.exponent, b.exponent)
  return [scaled(a, exponent), scaled(b, exponent)]
}

/** Returns the shortest decimal that converts to this double (ECMA-262). */
function decimalOf(value: number): Decimal {
  const [mantissa = '', exponent = '0'] = String(value).split('e')
  const [whole = '', fraction = ''] = mantissa.split('.')
  return { digits: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length }
}

const scaled = ({ digits, exponent }: Decimal, lowest: number): Decimal => ({
  digits: digits * 10n ** BigInt(exponent - lowest),
  exponent: lowest,
})

/** Returns the double whose shortest decimal equals this one; undefined without such a double. */
function doubleOf(decimal: Decimal): number | undefined {
  const double = Number(`${decimal.digits}e${decimal.exponent}`)
  if (!Number.isFinite(double)) return undefined
  const written = decimalOf(double)
  const lowest = Math.min(written.exponent, decimal.exponent)
  return scaled(written, lowest).digits === scaled(decimal, lowest).digits ? double : undefined
}
