import { isIPv4, isIPv6 } from 'node:net'

/** Addresses that begin alike. */
interface Network {
  readonly size: 32 | 128
  /** The first address. */
  readonly first: bigint
  /** How many bits of an address are left behind the common ones. */
  readonly free: bigint
}

interface Address {
  readonly size: 32 | 128
  readonly value: bigint
}

/** The first 96 bits of an IPv6 address that stands for one of IPv4. */
const MAPPED = 0xffffn

/**
 * The number of ONE address in its usual form; undefined for any other text, such as a name, a port or a zone. An IPv6
 * address that stands for one of IPv4 (`::ffff:10.0.0.1`) is that one.
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

/** Why a text is no network that everybody reads alike; undefined for one that is. */
export function networkProblem(text: string): string | undefined {
  const network = networkOf(text)
  if (network === undefined) return `\`${text}\` is not a network`
  const { first, free } = network
  return (first >> free) << free === first ? undefined : `\`${text}\` does not begin at its first address`
}

/** Whether an address is in the network; undefined for a text that is no address. */
export function isInNetwork(written: string): (text: string) => boolean | undefined {
  const network = networkOf(written)
  if (network === undefined) throw new Error(`network passed the check and does not compile: ${written}`)
  const { size, first, free } = network
  return (text) => {
    const address = addressOf(text)
    return address && address.size === size && address.value >> free === first >> free
  }
}

/** The first address of a network of IPv4, and the one behind its last: examples for `diff`. Of IPv6 only the first. */
export function networkEdges(written: string): readonly string[] {
  const [first = ''] = written.split('/')
  const network = networkOf(written)
  if (network === undefined || network.size === 128) return [first]
  const behind = network.first + (1n << network.free)
  return [first, [24n, 16n, 8n, 0n].map((shift) => (behind >> shift) & 0xffn).join('.')]
}
