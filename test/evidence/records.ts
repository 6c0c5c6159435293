import type { JsonObject, JsonValue } from '../../src/contract/json.ts'
import { signCheckpoint, signingKeyOf, verifierKey } from '../../src/domain/checkpoint.ts'
import { canonicalJson, leafHash } from '../../src/domain/digest.ts'
import type { EventType } from '../../src/events/events.ts'
import { EMPTY_TREE, grown, rootOf } from '../../src/domain/merkle.ts'

/** Records of tenant `acme`, and what the gateway makes of them: an export and checkpoints. */

export const ORIGIN = 'countersign/0a/acme'
export const KEY = signingKeyOf(Buffer.alloc(32, 1))
export const VERIFIER_KEY = verifierKey(ORIGIN, KEY.public)

const START = Date.UTC(2026, 10, 20, 12)
export const THREAD = 'thr_1'
export const TOKEN_HASH = 't'.repeat(64)
export const at = (seconds: number): string => new Date(START + seconds * 1_000).toISOString()

interface Parts {
  /** `agent:bot`, unless given. */
  readonly by?: string
  /** Seconds after the start. */
  readonly at?: number
  readonly disclosed?: JsonObject
  readonly details?: JsonObject
  readonly [member: string]: unknown
}

/** A record of a thread of `bot`, one second after the start, unless said otherwise. */
export function record(type: EventType, parts: Parts = {}): JsonObject {
  const { by = 'agent:bot', at: seconds = 1, details = {}, ...more } = parts
  const [kind = '', id = ''] = by.split(':')
  const about = { task_id: 'task', thread_id: THREAD, revision: 1, tool: 'pay' }
  const common = { v: 1, tenant: 'acme', at: at(seconds), actor: { kind, id } }
  const decided = /^decision\.|^review\.(?:pending|revised)$/.test(type)
  const risk = decided
    ? { risk: 'low', policy_risk: 'low' }
    : type.startsWith('review.')
      ? { risk: 'low' }
      : {}
  const whole = { ...common, ...about, ...more, type, details: { ...risk, ...details } }
  // members that are undefined are not written
  return JSON.parse(JSON.stringify(whole)) as JsonObject
}

const plain = { task_id: undefined, thread_id: undefined, revision: undefined, tool: undefined }

export const keyOf = (holder: 'agent' | 'reviewer', id: string, more: JsonObject = {}): JsonObject => {
  const details = { holder, id, key_hash: `key of ${id}`, rotated: false, ...more }
  return record('key.issued', { ...plain, by: 'admin:admin', details })
}

/** The common details of a decision: a rule has one verdict. */
const judged = (verdict: string, by = ['r']): JsonObject => ({
  verdict,
  by,
  rules: by,
  policy: 'bundle',
  commitment: 'c',
})
/** The time that THREAD had waited at its decision. */
const waited = ({ at: seconds = 1 }: Parts): JsonObject => ({ waited_ms: (seconds - 1) * 1_000 })

/** One approval, by any reviewer of the desk, within a minute. */
export const ASKED = { expires_ms: 60_000, seats: [{ approvals: 1, escalate: [], group: 'desk' }] }
export const pending = (requirement: JsonValue = ASKED, parts: Parts = {}): JsonObject =>
  record('review.pending', { ...parts, details: { ...judged('review'), requirement, ...parts.details } })
export const voted = (by: string, decision = 'approve', parts: Parts = {}): JsonObject =>
  record('vote.cast', {
    by,
    ...parts,
    details: { decision, digest: 'd', via: 'key', displayed: 'none', ...parts.details },
  })
export const approved = (by: string, voters: string[], parts: Parts = {}): JsonObject =>
  record('review.approved', {
    by,
    ...parts,
    details: { voters, digest: 'd', ...waited(parts), ...parts.details },
  })
export const minted = (parts: Parts = {}): JsonObject =>
  record('token.minted', {
    ...parts,
    details: { token_hash: TOKEN_HASH, expires_at: at(30), ...parts.details },
  })
export const redeemed = (parts: Parts = {}): JsonObject =>
  record('token.redeemed', { ...parts, details: { token_hash: TOKEN_HASH, ...parts.details } })
export const refused = (reason: string, parts: Parts = {}): JsonObject =>
  record('token.refused', { ...parts, details: { token_hash: TOKEN_HASH, reason, ...parts.details } })
export const decided = (verdict: 'allow' | 'reject', by = [`${verdict}s`], parts: Parts = {}): JsonObject =>
  record(verdict === 'allow' ? 'decision.allowed' : 'decision.rejected', {
    thread_id: undefined,
    revision: undefined,
    ...parts,
    details: { ...judged(verdict, by), ...parts.details },
  })
export const reported = (text: string): JsonObject =>
  record('agent.event', {
    ...plain,
    task_id: 'task',
    details: { event_id: text },
  })

/** The keys that the acts of the records need. */
export const KEYS = [keyOf('agent', 'bot'), keyOf('reviewer', 'ann'), keyOf('reviewer', 'ben')]
/** From the request to the redemption. */
export const APPROVED = [pending(), voted('reviewer:ann'), approved('reviewer:ann', ['ann'])]
export const REDEEMED = [...APPROVED, minted(), redeemed()]

export const textsOf = (records: readonly JsonObject[]): string[] => records.map((one) => canonicalJson(one))

export const lineOf = (text: string, number: number): string =>
  `{"number":${number},"leaf_hash":"${leafHash(text)}","record":${text}}`
export const linesOf = (texts: readonly string[]): string[] => texts.map((text, i) => lineOf(text, i + 1))

/** A checkpoint over the first `size` records. */
export function noteOf(texts: readonly string[], size: number, signer = KEY): string {
  const root = rootOf(grown(EMPTY_TREE, texts.slice(0, size).map(leafHash)))
  return signCheckpoint({ origin: ORIGIN, size, root, at: at(size % 10) }, signer)
}
