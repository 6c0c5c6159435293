import { posix } from 'node:path'
import type { JsonValue } from '../../contract/json.ts'
import { isComparable } from '../../domain/normal-form.ts'
import { MISSING, UNREADABLE, type Reading } from './fields.ts'
import type { FunctionName } from './rule.ts'
import { sqlVerbs } from './sql.ts'

/** Stands in a list for what was made of an unreadable element, however many elements that would have been. */
export const SEVERAL_UNREADABLE = Symbol('several unreadable')

export type AppliedElement = JsonValue | typeof UNREADABLE | typeof SEVERAL_UNREADABLE

/** A value read through a function: elements that it could not read stay in their place, marked. */
export type Applied = Reading | readonly AppliedElement[]

/** Applies a function of section 3; over a list it maps. Total: what it cannot read is UNREADABLE, never an exception. */
export function applyFunction(name: FunctionName, value: Reading): Applied {
  if (value === MISSING || value === UNREADABLE) return value
  if (!Array.isArray(value)) return applyToText(name, value) ?? UNREADABLE
  const unreadable = name === 'sql_verbs' ? SEVERAL_UNREADABLE : UNREADABLE
  return (value as readonly JsonValue[]).flatMap<AppliedElement>(
    (item) => applyToText(name, item) ?? unreadable,
  )
}

function applyToText(name: FunctionName, value: JsonValue): string | readonly string[] | undefined {
  if (typeof value !== 'string' || !isComparable(value)) return undefined
  return name === 'sql_verbs' ? sqlVerbs(value) : TEXT_FUNCTIONS[name](value)
}

const TEXT_FUNCTIONS: Readonly<
  Record<Exclude<FunctionName, 'sql_verbs'>, (text: string) => string | undefined>
> = {
  domain: mailDomain,
  host: urlHost,
  path: normalPath,
}

const LABEL = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?'
const MAIL = new RegExp(`^[A-Za-z0-9.!#$%&'*+/=?^_{|}~-]{1,64}@(${LABEL}(?:\\.${LABEL}){1,20})$`, 'i')

/**
 * The domain of ONE plain mail address in lower case. A display name, a quoted local part, a comment, a second address
 * or a non-ASCII character makes it unreadable: mail software disagrees about those.
 */
function mailDomain(address: string): string | undefined {
  return MAIL.exec(address)?.[1]?.toLowerCase()
}

/**
 * The host of an absolute http, https, ws, wss or ftp URL, in lower case, without port; IPv6 in brackets.
 * Credentials, backslashes, blanks and control characters make it unreadable: parsers disagree about those.
 */
function urlHost(url: string): string | undefined {
  if (!/^(?:https?|wss?|ftp):\/\/[^\s\\@]+$/i.test(url) || !URL.canParse(url)) return undefined
  const { hostname } = new URL(url)
  return hostname === '' ? undefined : hostname.replace(/\.$/, '')
}

/** An absolute path with `.`, `..` and doubled slashes resolved, no slash at the end. A relative path is unreadable. */
function normalPath(path: string): string | undefined {
  // eslint-disable-next-line no-control-regex
  if (!path.startsWith('/') || /[\0-\x1f\\]/.test(path)) return undefined
  const normal = posix.normalize(path).replace(/^\/{2,}/, '/')
  return normal.length > 1 ? normal.replace(/\/$/, '') : normal
}
