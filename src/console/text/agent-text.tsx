import { segmentsOf } from '../../domain/hidden-characters.ts'

/**
 * Text from an agent, in text nodes only and with isolated direction. Hidden characters appear as boxes with their code
 * point. The text cannot move, hide or imitate the page around it.
 */
export function AgentText({ text }: { readonly text: string }) {
  return (
    <bdi class="said">
      {segmentsOf(text).map(({ text: run, hidden }, i) =>
        hidden === undefined ? (
          run
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
