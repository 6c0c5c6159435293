import { segmentsOf } from '../../domain/hidden-characters.ts'
import { orderOf } from '../../domain/letter-order.ts'

/**
 * Text from an agent, in text nodes only and with isolated direction. Hidden characters appear as boxes with their code
 * point, and each run in text that mixes directions is isolated. The text cannot move, hide or imitate the page
 * around it. No translation changes it.
 */
export function AgentText({ text }: { readonly text: string }) {
  const order = orderOf(text)
  return (
    <bdi class="said" dir={order?.direction} translate={false}>
      {segmentsOf(text).map(({ text: run, hidden }, i) =>
        hidden === undefined ? (
          (order?.runs(run).map((piece, at) =>
            piece.turned ? (
              <bdi key={at} class="turned">
                {piece.text}
              </bdi>
            ) : (
              piece.text
            ),
          ) ?? run)
        ) : (
          <span key={i} class="box" title={hidden.name}>
            {hidden.code}
            {hidden.count > 1 && `×${hidden.count}`}
            <span class="sr"> {hidden.name} </span>
          </span>
        ),
      )}
    </bdi>
  )
}

export const AgentSpan = ({ text, kind }: { readonly text: string; readonly kind: string }) => (
  <span class={kind}>
    <AgentText text={text} />
  </span>
)

export const AgentMark = ({ text }: { readonly text: string }) => (
  <mark>
    <AgentText text={text} />
  </mark>
)
