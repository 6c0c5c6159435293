import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { readDisclosures } from '../../domain/disclosure.ts'
import { DisclosureCheck } from '../../evidence/disclosure-check.ts'
import { fault, type PartCheck } from './part.ts'

/** Checks that disclosures match the commitment of their record, and that evidence explains each that is gone (G18). */
export function checkDisclosures(): PartCheck {
  const check = new DisclosureCheck({ expectsAll: true })
  return {
    event({ number, body, disclosures }) {
      const record = parse(body)
      if (record === undefined) return []
      const given = disclosures === undefined ? undefined : (readDisclosures(disclosures) ?? null)
      const broken = check.take(number, record, given as JsonValue | undefined)
      return broken === undefined ? [] : [fault('G18', `evidence ${number} ${broken}`)]
    },
    record(type, id) {
      if (type === 'erased') check.rewritten(Number(id))
      return []
    },
    end: () => check.end().faults.map((what) => fault('G18', what)),
  }
}

function parse(body: string): JsonObject | undefined {
  try {
    return JSON.parse(body) as JsonObject
  } catch {
    return undefined
  }
}
