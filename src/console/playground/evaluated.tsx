import { type Playground, rangeOfLine } from '../../playground/playground.ts'
import type { Reply } from '../../playground/messages.ts'
import { Explanation } from '../policies/explanation.tsx'
import { Finding } from '../policies/finding.tsx'
import { AgentText } from '../text/agent-text.tsx'
import { Panel } from '../shell/panel.tsx'
import { BUNDLE_EDITOR } from './editors.tsx'

type Diagnostic = Reply['diagnostics'][number]

/** The decision about the call, explained as the policies page explains calls. */
export function Decision({ reply }: { readonly reply: Reply | undefined }) {
  const { decision, problem } = reply ?? {}
  return (
    <Panel title="Decision" kind="policy decision">
      {reply === undefined && <p class="quiet">Loading the evaluator…</p>}
      {decision && <Explanation view={decision.explanation} />}
      {problem !== undefined && (
        <p>
          <b>No decision:</b> <AgentText text={problem} />
        </p>
      )}
    </Panel>
  )
}

/** The numbers of passed tests and of findings. */
function summaryOf({ diagnostics, tests }: Reply): string {
  const passed = tests?.filter(({ problems }) => problems.length === 0).length
  const ran = tests === undefined ? 'No test ran' : `Tests passed: ${passed} of ${tests.length}`
  return `${ran}. Findings: ${diagnostics.length}.`
}

/** A reply in one line, for users of screen readers. */
export const announced = (reply: Reply): string =>
  `Decision: ${reply.decision?.verdict ?? 'none'}. ${summaryOf(reply)}`

interface FindingsProps {
  readonly reply: Reply | undefined
  readonly playground: Playground
}

/** The findings of `countersign check` and `countersign test` in the bundle. */
export function Findings({ reply, playground }: FindingsProps) {
  return (
    <Panel title="Findings and tests" kind="findings">
      {reply && <p>{summaryOf(reply)}</p>}
      <ul class="rules">
        {reply?.diagnostics.map((finding, i) => (
          <Finding
            key={i}
            finding={finding}
            place={
              <button class="small" onClick={() => goTo(finding, playground)}>
                {finding.file}:{finding.line}
              </button>
            }
          />
        ))}
      </ul>
    </Panel>
  )
}

/** Shows the file, and selects the line in the editor once it is drawn. */
function goTo({ file, line }: Diagnostic, playground: Playground): void {
  playground.show(file)
  requestAnimationFrame(() => {
    const editor = document.getElementById(BUNDLE_EDITOR)
    if (!(editor instanceof HTMLTextAreaElement)) return
    editor.focus()
    editor.setSelectionRange(...rangeOfLine(editor.value, line))
  })
}
