import { BlockList, isIP } from 'node:net'
import { ConfigError } from './settings.ts'

const BITS = { 4: 32, 6: 128 } as const

/** Networks as `10.0.0.0/8, 2001:db8::/32`; an address alone is itself. @throws ConfigError naming the setting */
export function networksOf(text: string | undefined, setting: string): BlockList {
  const networks = new BlockList()
  for (const one of (text ?? '').split(',').map((part) => part.trim()))
    if (one !== '') add(networks, one, setting)
  return networks
}

function add(networks: BlockList, network: string, setting: string): void {
  const [address = '', bits] = network.split('/')
  const family = isIP(address)
  if (family !== 4 && family !== 6) throw wrong(network, setting)
  const most = BITS[family]
  const length = bits === undefined ? most : Number(bits)
  if (!/^\d{1,3}$/.test(bits ?? '0') || length > most || network.split('/').length > 2)
    throw wrong(network, setting)
  networks.addSubnet(address, length, family === 4 ? 'ipv4' : 'ipv6')
}

const wrong = (network: string, setting: string): ConfigError =>
  new ConfigError(`${setting}: \`${network}\` is no network; write such as \`10.0.0.0/8, 2001:db8::/32\``)
