import type { RuleFileView } from '../../contract/admin.ts'
import { useEffect, useRef } from 'preact/hooks'
import { Panel } from '../shell/panel.tsx'
import { AgentText } from '../text/agent-text.tsx'
import { ProblemNote } from '../wire/problem.tsx'
import { useResource } from '../wire/resource.ts'

/** The text of a rule file, read-only, at the line of a rule. */
export function RuleFile({ path, line }: { readonly path: string; readonly line: number | undefined }) {
  const { body, problem, load } = useResource<RuleFileView>(
    `admin/policies/rules?path=${encodeURIComponent(path)}`,
  )
  const marked = useRef<HTMLLIElement>(null)
  useEffect(() => marked.current?.scrollIntoView({ block: 'center' }), [body, line])
  if (problem) return <ProblemNote problem={problem} retry={() => void load()} />
  if (body === undefined) return <p class="empty">Loading…</p>
  return (
    <Panel title={path} note={<span class="tag">read-only</span>}>
      <ol class="lines" tabIndex={0} aria-label={path}>
        {body.text.split('\n').map((text, i) => (
          <li
            key={i}
            {...(i + 1 === line && { ref: marked })}
            aria-current={i + 1 === line ? 'true' : undefined}
          >
            <AgentText text={text} />
          </li>
        ))}
      </ol>
      <p class="quiet small">The text in force now. Change it in git.</p>
    </Panel>
  )
}
