import type { ComponentChildren } from 'preact'
import type { PoliciesView } from '../../contract/admin.ts'

type Diagnostic = PoliciesView['last_load']['diagnostics'][number]

interface FindingProps {
  readonly finding: Diagnostic
  /** The content that replaces the location when the file can be opened here. */
  readonly place?: ComponentChildren
}

/** One finding about the policy files: the problem, its remedy and its place. */
export function Finding({ finding, place }: FindingProps) {
  const { code, severity, file, line, column, message, hint } = finding
  return (
    <li>
      <span class={severity === 'error' ? 'verdict reject' : 'verdict review'}>{severity}</span> {message}
      {hint && <p class="quiet">{hint}</p>}
      <p>
        <small class="mono">
          {code} · {place ?? `${file}:${line}:${column}`}
        </small>
      </p>
    </li>
  )
}
