import type { Administrator } from '../../gateway/auth/administrator.ts'
import type { Caller } from '../../gateway/core/caller.ts'

/** What an administrator may touch: everything with the admin key, the own tenant as a reviewer with the admin role. */
export type AdminRight = { readonly kind: 'admin'; readonly id: string } | TenantAdmin

interface TenantAdmin {
  readonly kind: 'reviewer'
  readonly id: string
  readonly tenant: string
  readonly caller: Caller
}

/** As verbs know it. */
export function administratorOf(right: AdminRight): Administrator {
  const { kind, id } = right
  return { actor: { kind, id }, ...(right.kind === 'reviewer' && { caller: right.caller }) }
}
