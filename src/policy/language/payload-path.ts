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
