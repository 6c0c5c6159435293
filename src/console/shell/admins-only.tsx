import type { ComponentChildren } from 'preact'
import { isAdmin } from '../session/session.ts'

interface AdminsOnlyProps {
  /** What everybody else finds where. */
  readonly instead: ComponentChildren
  readonly children: ComponentChildren
}

/** A page that needs the admin role says so to everybody else, and what there is instead. */
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
