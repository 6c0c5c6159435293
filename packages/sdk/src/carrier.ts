import { canonicalJson } from './canonical-json.ts'
import { ArgumentsChanged } from './errors.ts'
import { messageOf } from './refusal.ts'
import type { Payload } from './types.ts'
import { toPayload } from './values.ts'

/** A schema of zod, or any other Standard Schema. */
export interface ToolSchema<Output = unknown> {
  readonly '~standard': {
    readonly types?: { readonly output: Output } | undefined
    readonly validate: (value: unknown) => unknown
  }
}

/** Carries the arguments of a tool through a review, in which they are JSON. */
export interface Carrier {
  /** @throws InvalidPayload */
  readonly toPayload: (value: unknown) => Payload
  /** The arguments for the function in another process. @throws ArgumentsChanged when the schema refuses the payload */
  readonly fromPayload: (payload: Payload) => Promise<unknown>
}

/** A schema of zod 4. */
interface Part {
  readonly _zod: {
    readonly def: Readonly<Record<string, unknown>>
    readonly bag?: { readonly Class?: unknown }
  }
  readonly encode?: (value: unknown) => unknown
  readonly decodeAsync?: (value: unknown) => Promise<unknown>
}

/** Types of zod whose values JSON cannot hold. */
const UNCARRIED = new Set<unknown>(['function', 'symbol', 'promise', 'file', 'nan'])
const CARRIED = new Set<unknown>([Date, URL, Set, Map, Object, Array])

/** @throws TypeError for a schema whose values no payload can hold */
export function carrierOf(schema: unknown, tool = 'the tool'): Carrier {
  const parts = isPart(schema) ? partsOf(schema) : []
  const uncarried = parts.map(uncarriedIn).find((name) => name !== undefined)
  if (uncarried !== undefined)
    throw new TypeError(`${tool}: no payload can hold \`${uncarried}\`; use a codec (z.codec)`)
  if (isPart(schema) && parts.some(isCodec)) return byCodec(schema, parts, tool)
  const { validate } = (schema as Partial<ToolSchema> | undefined)?.['~standard'] ?? {}
  const fromPayload: Carrier['fromPayload'] = async (payload) => {
    const made =
      validate && ((await validate(payload)) as { readonly issues?: unknown; readonly value?: unknown })
    if (made?.issues !== undefined) throw unlike('the schema of the tool refuses the approved payload')
    return made === undefined ? payload : made.value
  }
  return { toPayload, fromPayload }
}

/** The name of the type of zod that JSON cannot hold. */
function uncarriedIn({ _zod: { def, bag } }: Part): string | undefined {
  if (UNCARRIED.has(def['type'])) return String(def['type'])
  const type = bag?.Class as { readonly name: string } | undefined
  return type === undefined || CARRIED.has(type) ? undefined : type.name
}

function byCodec(schema: Part, parts: readonly Part[], tool: string): Carrier {
  const { encode, decodeAsync } = schema
  if (
    encode === undefined ||
    decodeAsync === undefined ||
    parts.some((one) => one._zod.def['type'] === 'transform')
  )
    throw new TypeError(
      `${tool}: its schema has a codec, and cannot be encoded: replace each transform by a codec`,
    )
  return {
    toPayload: (value) => toPayload(encode(value)),
    fromPayload: (payload) =>
      decodeAsync(payload).catch((cause: unknown) => {
        throw unlike(`the schema of the tool refuses the approved payload: ${messageOf(cause)}`)
      }),
  }
}

const unlike = (why: string): ArgumentsChanged => new ArgumentsChanged(why)

/** @throws ArgumentsChanged when the value differs from the approved payload */
export function requireEqual(carrier: Carrier, value: unknown, payload: Payload, thread_id?: string): void {
  if (value === payload) return
  let made: Payload | undefined
  try {
    made = carrier.toPayload(value)
  } catch {
    made = undefined
  }
  if (made === undefined || canonicalJson(made) !== canonicalJson(payload))
    throw new ArgumentsChanged('the arguments differ from the approved ones', { thread_id })
}

const isPart = (value: unknown): value is Part =>
  typeof value === 'object' && value !== null && '_zod' in value
const isCodec = ({ _zod: { def } }: Part): boolean => typeof def['reverseTransform'] === 'function'

/** The schema and the schemas in it; of a codec, those of its encoded side. */
function partsOf(schema: Part, seen = new Set<Part>()): Part[] {
  if (seen.has(schema)) return []
  seen.add(schema)
  const { def } = schema._zod
  const members = isCodec(schema) ? [def['in']] : [def, ...Object.values(def)].flatMap(childrenOf)
  const inner = def['type'] === 'lazy' ? [(def['getter'] as () => unknown)()] : members
  return [schema, ...inner.filter(isPart).flatMap((one) => partsOf(one, seen))]
}

const childrenOf = (value: unknown): unknown[] =>
  typeof value === 'object' && value !== null && !isPart(value) ? Object.values(value) : []
