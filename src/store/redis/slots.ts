import type { Host } from './address.ts'

/** Redis Cluster specification: 16,384 slots, CRC-16/XMODEM of the hash tag. */
const SLOTS = 16_384

export function slotOf(key: string): number {
  const open = key.indexOf('{')
  const close = open < 0 ? -1 : key.indexOf('}', open + 1)
  return crc16(close > open + 1 ? key.slice(open + 1, close) : key) % SLOTS
}

function crc16(text: string): number {
  let crc = 0
  for (const byte of Buffer.from(text)) {
    crc ^= byte << 8
    for (let bit = 0; bit < 8; bit++) crc = ((crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff
  }
  return crc
}

export interface Slots {
  /** The primary of each slot; undefined when no node serves the slot. */
  readonly bySlot: readonly (Host | undefined)[]
  readonly primaries: readonly Host[]
}

/**
 * Parses the answer of CLUSTER SLOTS. `asked` is the node that sent the answer. That node may not know its own address.
 * Undefined for an unusable answer.
 */
export function parseSlots(answer: unknown, asked: Host): Slots | undefined {
  if (!Array.isArray(answer) || answer.length === 0) return undefined
  const bySlot: (Host | undefined)[] = Array.from({ length: SLOTS })
  const primaries = new Map<string, Host>()
  for (const [from, to, [name, port]] of answer as [number, number, [string | null, number]][]) {
    const host = { host: name === null || name === '' || name === '?' ? asked.host : name, port }
    primaries.set(`${host.host}|${port}`, host)
    bySlot.fill(host, from, to + 1)
  }
  return { bySlot, primaries: [...primaries.values()] }
}

/** Parses `MOVED 3999 10.0.0.1:6381` and `ASK 3999 10.0.0.1:6381`; undefined for other errors. */
export function parseRedirection(
  message: string,
  asked: Host,
): { readonly ask: boolean; readonly host: Host } | undefined {
  const [, kind, name = '', port] = /^(MOVED|ASK) \d+ (.*):(\d+)$/.exec(message) ?? []
  if (kind === undefined) return undefined
  return {
    ask: kind === 'ASK',
    host: { host: name === '' || name === '?' ? asked.host : name, port: Number(port) },
  }
}
