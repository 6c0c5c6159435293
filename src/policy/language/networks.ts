import { isIPv4, isIPv6 } from 'node:net'

/** The addresses with a common prefix. */
interface Network {
  readonly size: 32 | 128
  /** The first address. */
  readonly first: bigint
  /** Number of bits after the prefix. */
  readonly free: bigint
}

interface Address {
  readonly size: 32 | 128
  readonly value: bigint
}

/** The first 96 bits of an IPv4-mapped IPv6 address. */
const MAPPED = 0xffffn

/**
 * Parses ONE IP address; undefined for any other text, such as a name, or an address with a port or a zone. An
 * IPv4-mapped address (`::ffff:10.0.0.1`) becomes its IPv4 address.
 */
function addressOf(text: string): Address | undefined {
  if (isIPv4(text)) return { size: 32, value: numberOf(text.split('.').map(Number), 8n) }
  if (!isIPv6(text) || text.includes('%')) return undefined
  const [head = '', tail = ''] = new URL(`http://[${text}]/`).hostname.slice(1, -1).split('::')
  const [before, after] = [groupsOf(head), groupsOf(tail)]
  const zeros = Array<number>(8 - before.length - after.length).fill(0)
  const value = numberOf([...before, ...zeros, ...after], 16n)
  return value >> 32n === MAPPED ? { size: 32, value: value & 0xffff_ffffn } : { size: 128, value }
}

function groupsOf(text: string): readonly number[] {
  return text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16))
}

function numberOf(groups: readonly number[], bits: bigint): bigint {
  return groups.reduce((value, group) => (value << bits) | BigInt(group), 0n)
}

function networkOf(text: string): Network | undefined {
  const [, written = '', length = ''] = /^([0-9A-Fa-f.:]+)\/(0|[1-9]\d{0,2})$/.exec(text) ?? []
  const address = addressOf(written)
  if (address === undefined || (address.size === 32) !== isIPv4(written)) return undefined
  const free = BigInt(address.size - Number(length))
  return free < 0n ? undefined : { size: address.size, first: address.value, free }
}

/** Returns the problem of a network such as `10.0.0.0/8`, or undefined. */
export function networkProblem(text: string): string | undefined {
  const network = networkOf(text)
  if (network === undefined) return `\`${text}\` is not a network`
  const { first, free } = network
  return (first >> free) << free === first ? undefined : `\`${text}\` does not begin at its first address`
}

/**
 * Compiles a test for addresses in the network. The test returns undefined for a string that is not an address.
 *
 * @throws Error when `written` is not a network
 */
export function isInNetwork(written: string): (text: string) => boolean | undefined {
  const network = networkOf(written)
  if (network === undefined) throw new Error(`network passed the check and does not compile: ${written}`)
  const { size, first, free } = network
  return (text) => {
    const address = addressOf(text)
    return address && address.size === size && address.value >> free === first >> free
  }
}

/** Returns examples for `diff`: the first address of a network and, for IPv4, the first address after it. */
export function networkEdges(written: string): readonly string[] {
  const [first = ''] = written.split('/')
  const network = networkOf(written)
  if (network === undefined || network.size === 128) return [first]
  const after = network.first + (1n << network.free)
  return [first, [24n, 16n, 8n, 0n].map((shift) => (after >> shift) & 0xffn).join('.')]
}
