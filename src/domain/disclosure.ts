import { hash } from 'node:crypto'
import type { JsonObject, JsonValue } from '../contract/json.ts'
import { isObject } from '../contract/json.ts'
import { canonicalJson, sha256, sorted } from './digest.ts'

/**
 * Disclosures (RFC 9901 calls a salt with its value a disclosure). A record of evidence holds one commitment to the
 * members that are kept beside it. The commitment is SHA-256 over the sorted hashes of all members. The hash of a
 * member is SHA-256 over its salt and the RFC 8785 text of `[name, value]`. A member can therefore be shown or erased
 * alone.
 *
 * The salts derive from one random seed of the record. An erasure replaces each erased member by its hash. It writes
 * out the other salts and deletes the seed, because the seed would let its holder test guesses.
 */
export interface Disclosures {
  /** Values by the name of their member. */
  readonly members: JsonObject
  /** 16 random bytes in base64url. Absent after an erasure. */
  readonly seed?: string
  /** The salts of the members, by name, after an erasure. */
  readonly salts?: Readonly<Record<string, string>>
  /** The hashes of erased members, lowercase hex. */
  readonly erased?: readonly string[]
}

export const SEED_BYTES = 16
const SALT_CHARS = 32

const saltOf = (seed: string, name: string): string => sha256(seed + name).slice(0, SALT_CHARS)

const hashOf = (salt: string, name: string, value: JsonValue): string =>
  sha256(salt + canonicalJson([name, value]))

/** SHA-256 over the sorted hashes, in base64url. Hex text is faster to sort and to join than bytes. */
const over = (hashes: string[]): string => hash('sha256', sorted(hashes).join(''), 'base64url')

/** The commitment to the members that are defined, with salts from the seed. */
export function commitmentTo(members: JsonObject, seed: string): string {
  const hashes: string[] = []
  for (const name of Object.keys(members)) {
    const value = members[name]
    if (value !== undefined) hashes.push(hashOf(saltOf(seed, name), name, value))
  }
  return over(hashes)
}

/** The commitment that belongs to the disclosures; undefined when a member lacks its salt. */
export function commitmentOf({ members, seed, salts = {}, erased = [] }: Disclosures): string | undefined {
  if (seed !== undefined) return erased.length > 0 ? undefined : commitmentTo(members, seed)
  const hashes = [...erased]
  for (const [name, value] of Object.entries(members)) {
    const salt = Object.hasOwn(salts, name) ? salts[name] : undefined
    if (salt === undefined) return undefined
    hashes.push(hashOf(salt, name, value))
  }
  return over(hashes)
}

/** The disclosures without the named members. Undefined when none of the names is a member. */
export function withoutMembers(from: Disclosures, names: ReadonlySet<string>): Disclosures | undefined {
  const { members, seed, salts = {}, erased = [] } = from
  const kept: Record<string, JsonValue> = {}
  const keptSalts: Record<string, string> = {}
  const hashes: string[] = []
  for (const [name, value] of Object.entries(members)) {
    const salt = seed === undefined ? (salts[name] ?? '') : saltOf(seed, name)
    if (names.has(name)) hashes.push(hashOf(salt, name, value))
    else {
      kept[name] = value
      keptSalts[name] = salt
    }
  }
  if (hashes.length === 0) return undefined
  return { members: kept, salts: keptSalts, erased: [...erased, ...hashes].sort() }
}

const HASH = /^[0-9a-f]{64}$/
const SALT = /^[0-9a-f]{32}$/
const SEED = /^[A-Za-z0-9_-]{22}$/

/** Parses the stored text; undefined for text that the gateway never writes. */
export function readDisclosures(text: string): Disclosures | undefined {
  let value: JsonValue
  try {
    value = JSON.parse(text) as JsonValue
  } catch {
    return undefined
  }
  return isDisclosures(value) ? value : undefined
}

/** True for a value of the shape that is stored and exported. */
export function isDisclosures(value: JsonValue | undefined): value is JsonValue & Disclosures {
  if (!isObject(value) || !isObject(value['members'])) return false
  const { members: _, seed, salts, erased, ...others } = value
  const isSeeded = seed === undefined || (typeof seed === 'string' && SEED.test(seed))
  const areSalts = salts === undefined || (isObject(salts) && Object.values(salts).every(isSalt))
  const areErased = erased === undefined || (Array.isArray(erased) && erased.every(isHash))
  return isSeeded && areSalts && areErased && Object.keys(others).length === 0
}

const isSalt = (value: JsonValue): boolean => typeof value === 'string' && SALT.test(value)
const isHash = (value: JsonValue): boolean => typeof value === 'string' && HASH.test(value)
