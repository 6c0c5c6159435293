import { BlockList, isIP } from 'node:net'

/*
 * The permitted addresses of deliveries (docs/webhooks.md and docs/decisions/0015). The gateway refuses every address
 * but plain public unicast. It refuses the IANA special-purpose registries, everything outside 2000::/3, and the
 * addresses that clouds reserve in public space.
 */
const REFUSED_V4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '168.63.129.16/32',
]
const REFUSED_V6 = ['2001::/23', '2001:db8::/32', '2002::/16', '2620:4f:8000::/48', '3ffe::/16', '3fff::/20']
const GLOBAL_V6 = ['2000::/3']

/**
 * Addresses that the gateway refuses even if the operator allows them: metadata services, link-local addresses, and
 * addresses that name no host.
 */
const ALWAYS_REFUSED_V4 = [
  '0.0.0.0/8',
  '100.100.100.200/32',
  '168.63.129.16/32',
  '169.254.0.0/16',
  '192.0.0.192/32',
  '224.0.0.0/4',
  '240.0.0.0/4',
]
const ALLOWABLE_V6 = ['::1/128', '2000::/3', 'fc00::/7']
const ALWAYS_REFUSED_V6 = [
  // metadata services of Amazon, Google, Scaleway, Oracle, Akamai and Alibaba
  'fd00:ec2::/32',
  'fd20:ce::/32',
  'fd00:42::42/128',
  'fd00:c1::a9fe:a9fe/128',
  'fd00:a9fe:a9fe::/64',
  'fd00:100::100:200/128',
  '2001::/23',
  '2002::/16',
]

/**
 * ISATAP addresses, with any prefix. Their packets are sent to the IPv4 address in the last 32 bits (RFC 5214 section
 * 6.1).
 */
const ISATAP = /:(0{1,4}|0?200)?:5efe:(:|[0-9a-f]{1,4}:[0-9a-f]{1,4}|\d+\.[\d.]+)$/i

const refused = listOf([...REFUSED_V4, ...REFUSED_V6])
const globalV6 = listOf(GLOBAL_V6)
const alwaysRefused = listOf([...ALWAYS_REFUSED_V4, ...ALWAYS_REFUSED_V6])
const allowableV6 = listOf(ALLOWABLE_V6)

const HTTPS_PORT = 443

/**
 * True when a connection to this address and port may be opened. `address` is text from Node. Text that is not an
 * address is refused.
 */
export function mayConnect(address: string, port: number, allowed: readonly Allowed[]): boolean {
  const family = isIP(address)
  if (family === 0 || address.includes('%')) return false
  if (port === HTTPS_PORT && isPublic(address, family)) return true
  return isAllowable(address, family) && allowed.some((one) => one.port === port && has(one.network, address))
}

/**
 * True when the operator may name this address. False for metadata services, link-local addresses, and addresses that
 * name no host.
 */
export function mayBeNamed(address: string): boolean {
  const family = isIP(address)
  return family !== 0 && !address.includes('%') && isAllowable(address, family)
}

function isPublic(address: string, family: number): boolean {
  if (family === 6 && !has(globalV6, address)) return false
  return !has(refused, address) && !ISATAP.test(address)
}

function isAllowable(address: string, family: number): boolean {
  // the other end of a tunnel may be link-local
  if (family === 6 && (!has(allowableV6, address) || ISATAP.test(address))) return false
  return !has(alwaysRefused, address)
}

/** A network and a port to which deliveries are permitted although the network is not public. For development. */
export interface Allowed {
  readonly network: BlockList
  readonly port: number
  /** The text in the setting. */
  readonly text: string
}

/**
 * Reads `127.0.0.1/32:8443, fd00::/8:443`.
 *
 * @throws TypeError that names the faulty part
 */
export function parseAllowed(text: string): Allowed[] {
  return text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
    .map(parseEntry)
}

function parseEntry(text: string): Allowed {
  const [, address = '', bits = '', port = ''] = /^([0-9a-fA-F:.]+)\/(\d{1,3}):(\d{1,5})$/.exec(text) ?? []
  const family = isIP(address)
  const longest = family === 4 ? 32 : 128
  const fits = family !== 0 && Number(bits) <= longest && Number(port) >= 1 && Number(port) <= 65_535
  if (!fits) throw new TypeError(`\`${text}\` is not a network and port; write it as 127.0.0.1/32:8443`)
  return { network: listOf([`${address}/${bits}`]), port: Number(port), text }
}

function listOf(networks: readonly string[]): BlockList {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', bits = ''] = network.split('/')
    list.addSubnet(address, Number(bits), isIP(address) === 4 ? 'ipv4' : 'ipv6')
  }
  return list
}

const has = (list: BlockList, address: string): boolean =>
  list.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6')
