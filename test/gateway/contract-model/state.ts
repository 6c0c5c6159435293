import type { Expected } from './calls.ts'
import type { Bundle, Need, Pay, Risk, Tool, Use } from './policy.ts'

/* The state of the contract model: plain data, which the game copies and compares. */

type Status = 'pending_review' | 'changes_requested' | 'approved' | 'rejected'

export interface Thread {
  readonly agent: string
  readonly task: string
  readonly tool: Tool
  readonly v2: boolean
  status: Status
  /** The start of the message, where it quotes no person. */
  code?: 'expired' | 'frozen' | 'reviewer_removed' | 'policy_changed' | 'withdrawn'
  /** Approved by the rule that allowed it. */
  readonly byRule: boolean
  revision: number
  readonly openedAt: number
  submittedAt: number
  approvedAt: number
  deadline: number
  need: Need
  payload: Pay
  /** The risk that the agent claims. */
  risk: Risk
  hash: string | undefined
  /** Decisions by person. */
  votes: Map<string, string>
  readonly revisionIds: Set<string>
  /** A freeze covered the thread before its redemption. */
  dead: boolean
  /** The uses that its approval has taken, as long as the gateway may give them back. */
  charged: readonly Use[]
  collected: boolean
  redeemed: boolean
  /** How the call ended, as its agent said. */
  ended?: string
  /** How often a new token replaced a lost one. */
  reissued: number
}

interface Token {
  readonly thread: string
  readonly key: string
  readonly expiresAt: number
  used: boolean
  /** Another token replaced it. */
  dead: boolean
}

/** An answer that was given under an Idempotency-Key. */
interface Stored {
  readonly body: string
  answer: Expected
  readonly at: number
  /** The state under which the gateway may repeat an allow. */
  readonly under: string
}

export interface State {
  readonly threads: Map<string, Thread>
  readonly tokens: Map<string, Token>
  readonly keys: Map<string, string>
  readonly answers: Map<string, Stored>
  readonly frozen: Set<string>
  readonly used: Map<string, number>
  freezes: number
  bundle: Bundle
  /** Approvals that time completed, without a vote: an earlier voter could take another chair from then on. */
  filledByTime: number
  /** Calls that a limit held, and approvals that gave back their uses of a limit. */
  heldByLimit: number
  released: number
  /** Threads that policy asks more of than before, and approvals that a reviewer took back. */
  raised: number
  takenBack: number
}

export const newState = (): State => ({
  threads: new Map(),
  tokens: new Map(),
  keys: new Map(),
  answers: new Map(),
  frozen: new Set(),
  used: new Map(),
  freezes: 0,
  bundle: 'first',
  filledByTime: 0,
  heldByLimit: 0,
  released: 0,
  raised: 0,
  takenBack: 0,
})

/**
 * Equal for two states that no later call distinguishes.
 * It omits the bundle, which every call sets anew, and the order of entries in maps and sets.
 */
export function fingerprint(state: State): string {
  const {
    bundle: _,
    filledByTime: _a,
    heldByLimit: _b,
    released: _c,
    raised: _d,
    takenBack: _e,
    ...lasting
  } = state
  return JSON.stringify(lasting, (_key, value: unknown) => {
    if (value instanceof Map) return [...value].toSorted(([a], [b]) => inOrder(a, b))
    return value instanceof Set ? [...value].toSorted(inOrder) : value
  })
}

const inOrder = (a: unknown, b: unknown): number => (String(a) < String(b) ? -1 : 1)
