import { createHmac } from 'node:crypto'
import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { canonicalJson } from '../../domain/digest.ts'
import { maskPayload, type Masked } from '../../policy/evaluate/mask.ts'
import type { Deps } from '../core/deps.ts'

const TAG_CHARS = 8

export interface Proposed {
  readonly tool: string
  readonly payload: JsonObject
}

/**
 * The payload with tags in place of the values that the tool's contract marks as sensitive; without a contract, in
 * place of all values. Equal values have equal tags only under one key.
 */
export function hideSensitive(deps: Deps, key: string, { tool, payload }: Proposed): Masked {
  const sensitive = deps.policies.current()?.tools.get(tool)?.sensitive
  return maskPayload(payload, sensitive, tagger(key))
}

/** Creates the function that turns sensitive values into tags. */
export function tagger(key: string): (value: JsonValue) => string {
  return (value) => {
    const digest = createHmac('sha256', key).update(canonicalJson(value)).digest('hex')
    return `[hidden ${digest.slice(0, TAG_CHARS)}]`
  }
}

const KEY_BYTES = 16

/** A key that ends with its thread, so that no reader can test guesses of a value with a tag afterwards. */
export const newTagKey = (deps: Pick<Deps, 'random'>): string =>
  Buffer.from(deps.random(KEY_BYTES)).toString('base64url')
