import type { ComponentChildren } from 'preact'
import { isAdmin } from '../session/session.ts'

interface AdminsOnlyProps {
  /** The alternative for other reviewers. */
  readonly instead: ComponentChildren
  readonly children: ComponentChildren
}

/** A page for the admin role. Other reviewers see that they lack the role, and an alternative. */
export function AdminsOnly({ instead, children }: AdminsOnlyProps) {
  if (isAdmin()) return <>{children}</>
  return (
    <div class="empty">
      <p class="big">This page is for administrators.</p>
      <p class="quiet">
        It needs the role <code>admin</code> in <code>directory.yaml</code>. {instead}
      </p>
    </div>
  )
}
