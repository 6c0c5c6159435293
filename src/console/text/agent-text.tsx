import { segmentsOf } from '../../domain/hidden-characters.ts'

/**
 * What an agent wrote: text nodes and nothing else, in a direction of its own. Hidden characters are boxes with their code point, so
 * that nothing in it can move, hide or imitate what stands around it.
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
