import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { escaped } from '../terminal/visible-text.ts'

/** A call of an agent, which is printed as a program that makes the call. */
export interface ExampleCall {
  readonly url: string
  /** The agent's key. */
  readonly key: string
  readonly tool: string
  readonly payload: JsonObject
}

/** The locations of the SDKs for the programs. */
export interface SdkPlaces {
  /** The import for JavaScript: a package name or a file URL. */
  readonly typescript: string
  /** The argument of `pip install`. */
  readonly python: string
}

/** The same call in three languages. Users can paste each text into a shell. */
export function exampleCalls(call: ExampleCall, places: SdkPlaces): string {
  return [
    '# curl',
    curlCall(call),
    '',
    '# TypeScript',
    typescriptCall(call, places),
    '',
    `# Python, after: pip install ${quoted(places.python)}`,
    pythonCall(call),
  ].join('\n')
}

export function curlCall({ url, key, tool, payload }: ExampleCall): string {
  const body = quoted(jsonOf({ tool_name: tool, payload }))
  const headers = [`-H ${quoted(`authorization: Bearer ${key}`)}`, "-H 'content-type: application/json'"]
  return [
    `curl -sS ${quoted(`${url}/api/agent/tasks/first/requests`)} \\`,
    `  ${headers.join(' ')} \\`,
    `  -d ${body}`,
  ].join('\n')
}

export function typescriptCall({ url, key, tool, payload }: ExampleCall, { typescript }: SdkPlaces): string {
  return [
    "node --input-type=module <<'END'",
    `import { createGate } from ${jsonOf(typescript)}`,
    `const gate = createGate({ url: ${jsonOf(url)}, key: ${jsonOf(key)} })`,
    'const onPending = (held) => console.log("held:", held.message)',
    'const run = async (approved) => console.log("your tool runs with", approved)',
    `await gate.guard(${jsonOf(tool)}, ${jsonOf(payload)}, run, { onPending })`,
    'END',
  ].join('\n')
}

export function pythonCall({ url, key, tool, payload }: ExampleCall): string {
  return [
    "python3 - <<'END'",
    'from countersign_sdk import Countersign',
    `gate = Countersign(${pythonOf(url)}, ${pythonOf(key)}, on_held=lambda held: print("held:", held.message))`,
    `gate.guard(${pythonOf(tool)}, ${pythonOf(payload)}, lambda approved: print("your tool runs with", approved))`,
    'END',
  ].join('\n')
}

/** JSON on one line, which is JavaScript as well. */
const jsonOf = (value: JsonValue): string => escaped(JSON.stringify(value))

/** One word of a POSIX shell. */
function quoted(text: string): string {
  return /^[\w@%+:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}

/** A literal of Python. */
function pythonOf(value: JsonValue): string {
  if (value === null) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (typeof value === 'string')
    // Python reads the escapes of JSON, but no surrogate pairs
    return JSON.stringify(value).replaceAll(HIDDEN, (one) => {
      const code = one.codePointAt(0) ?? 0
      return code > 0xffff
        ? `\\U${code.toString(16).padStart(8, '0')}`
        : `\\u${code.toString(16).padStart(4, '0')}`
    })
  if (Array.isArray(value)) return `[${value.map(pythonOf).join(', ')}]`
  if (typeof value === 'object')
    return `{${Object.entries(value as JsonObject)
      .map(([key, one]) => `${pythonOf(key)}: ${pythonOf(one)}`)
      .join(', ')}}`
  return String(value)
}

const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu
