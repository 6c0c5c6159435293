import type { ComponentChildren } from 'preact'
import { isAdmin } from '../session/session.ts'

interface AdminsOnlyProps {
  /** The place where other reviewers find what they need. */
  readonly instead: ComponentChildren
  readonly children: ComponentChildren
}

/** A page for the admin role. To others it says so, and offers an alternative. */
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
