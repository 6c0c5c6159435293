/** Types of handlers. Every operation of the contract has one, with its parameters, body and answers. */
import type { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type {
  Access,
  ComponentOf,
  Media,
  Operation,
  Operations,
  ParamsOf,
  RequestHeader,
} from '../../contract/operation.ts'
import type { Caller } from '../../gateway/core/caller.ts'
import type { Deps } from '../../gateway/core/deps.ts'
import type { Committed } from '../../gateway/core/transact.ts'
import type { HeaderValues } from './request-headers.ts'

export type Handlers<T extends Operations> = {
  readonly [Id in keyof T]: (call: Call<T[Id]>) => BodyOf<T[Id]> | Promise<BodyOf<T[Id]>>
}

/** One request, authenticated and checked. */
export type Call<O extends Operation> = HeadersOf<O> & {
  /** The gateway's dependencies with this request as origin. */
  readonly gateway: Deps
  readonly caller: CallerOf<O['access']>
  readonly params: ParamsOf<O['path']>
  readonly query: O extends { readonly query: infer Name } ? ComponentOf<Name> : undefined
  /** The unchecked body of a lenient operation; undefined when it is not strict JSON. */
  readonly body: O extends { readonly lenient: true }
    ? unknown
    : O extends { readonly body: infer Name }
      ? ComponentOf<Name>
      : undefined
  readonly request: FastifyRequest
  /** The reply, for headers and for answers that the handler writes itself. */
  readonly reply: FastifyReply
}

/** Tenants of an administrator: all tenants with the admin key, or the reviewer's own tenant with the admin role. */
export type AdminRight = { readonly kind: 'admin'; readonly id: string } | TenantAdmin

interface TenantAdmin {
  readonly kind: 'reviewer'
  readonly id: string
  readonly tenant: string
  readonly caller: Caller
}

type CallerOf<A extends Access> = A extends 'agent' | 'reviewer'
  ? Caller
  : A extends 'admin' | 'adminKey' | 'adminOrReviewer'
    ? AdminRight
    : undefined

type HeadersOf<O extends Operation> = O extends { readonly headers: readonly (infer Name)[] }
  ? Pick<HeaderValues, Name & RequestHeader & keyof HeaderValues>
  : unknown

/** The body of the answer, whose status the contract has. */
type BodyOf<O extends Operation> = AnswerOf<O['answers'][keyof O['answers']]>

/** Nothing for an answer that the handler has written itself. */
type AnswerOf<A> = A extends Media
  ? Uint8Array | Readable | undefined
  : A extends null
    ? void
    : Frozen<ComponentOf<A>>

/** Values that verbs return are never modified. */
type Frozen<T> = T extends object ? { readonly [Key in keyof T]: Frozen<T[Key]> } : T

/** The answer of a verb. The reply has the receipt of its evidence record. */
export function received<Body>(
  reply: FastifyReply,
  { answer, receipt, replayed = false }: Committed<Body>,
): Body {
  if (replayed) reply.header('idempotent-replayed', 'true')
  if (receipt) reply.header('countersign-evidence', `${receipt.number}:${receipt.leaf}`)
  return answer
}
