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
 * place of all values. Equal values have equal tags only within `scope`.
 */
export function hideSensitive(deps: Deps, scope: string, { tool, payload }: Proposed): Masked {
  const sensitive = deps.policies.current()?.tools.get(tool)?.sensitive
  return maskPayload(payload, sensitive, tagger(deps, scope))
}

/** Creates the function that turns sensitive values into tags. */
export function tagger(deps: Pick<Deps, 'commitmentSecret'>, scope: string): (value: JsonValue) => string {
  return (value) => {
    const text = JSON.stringify([scope, canonicalJson(value)])
    const digest = createHmac('sha256', deps.commitmentSecret).update(text).digest('hex')
    return `[hidden ${digest.slice(0, TAG_CHARS)}]`
  }
}
