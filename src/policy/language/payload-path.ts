import { escapeHidden } from '../text/text.ts'

const STEPS = String.raw`(?:\.[A-Za-z_$][\w$-]*|\[(?:0|[1-9]\d{0,5})\]|\["(?:[^"\\]|\\.)+"\])+`
const PAYLOAD_PATH = new RegExp(`^payload(${STEPS})$`, 'su')
const STEP = /\.([A-Za-z_$][\w$-]*)|\[(\d+)\]|\[("(?:[^"\\]|\\.)+")\]/gsu

/** Returns the keys and indexes of a payload field (`payload.people[0].email`); undefined for any other text. */
export function payloadPath(field: string): readonly (string | number)[] | undefined {
  const payload = PAYLOAD_PATH.exec(field)
  return payload === null ? undefined : readSteps(payload[1] ?? '')
}

/** Returns the keys and indexes of a path; undefined when a quoted name is not JSON. */
function readSteps(text: string): readonly (string | number)[] | undefined {
  const path: (string | number)[] = []
  for (const [, plain, index, quoted] of text.matchAll(STEP)) {
    const step = plain ?? (index === undefined ? unquoted(quoted ?? '') : Number(index))
    if (step === undefined) return undefined
    path.push(step)
  }
  return path
}

function unquoted(text: string): string | undefined {
  try {
    return JSON.parse(text) as string
  } catch {
    return undefined
  }
}

const PLAIN_NAME = /^[A-Za-z_$][\w$-]*$/

/** Returns the canonical name of a payload field: `payload.a[0]["app.kubernetes.io/name"]`. */
export function payloadName(path: readonly (string | number)[]): string {
  return `payload${path.map(stepText).join('')}`
}

/** Returns true for a property name that needs no brackets. */
export function isPlainName(name: string): boolean {
  return PLAIN_NAME.test(name)
}

function stepText(step: string | number): string {
  if (typeof step === 'number') return `[${step}]`
  return isPlainName(step) ? `.${step}` : `[${escapeHidden(JSON.stringify(step))}]`
}
