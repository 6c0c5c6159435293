import type { ThreadRevision, ThreadView } from '../../contract/reviewer.ts'
import { useEffect } from 'preact/hooks'
import { useSignal } from '@preact/signals'
import { getBlob } from '../wire/call.ts'
import type { Address } from '../wire/path.ts'
import { LongText } from '../text/long-text.tsx'
import { RiskMark } from '../risk/risk-mark.tsx'
import { Panel } from '../shell/panel.tsx'

interface ClaimsProps {
  readonly view: ThreadView
  readonly revision: ThreadRevision
}

/** The agent's own words, drawn as a quotation. */
export function Claims({ view, revision }: ClaimsProps) {
  const { subject, preview, summary = [], workflow_name, task_label, risk_level, images = [] } = revision
  const texts = { Subject: subject, Preview: preview, Workflow: workflow_name, Task: task_label }
  const said = Object.entries(texts).filter(([, text]) => text !== undefined && text !== '')
  const silent = said.length + summary.length + images.length === 0 && risk_level === undefined
  return (
    <Panel title="What the agent says" kind="claims" note={<span class="tag">not checked</span>}>
      {silent && <p class="quiet">Nothing.</p>}
      <dl class="facts">
        {said.map(([name, text]) => [
          <dt key={name}>{name}</dt>,
          <dd key={`${name}=`}>
            <LongText text={text ?? ''} />
          </dd>,
        ])}
        {summary.length > 0 && <dt>Summary</dt>}
        {summary.length > 0 && (
          <dd>
            <ul>
              {summary.map((line, i) => (
                <li key={i}>
                  <LongText text={line} />
                </li>
              ))}
            </ul>
          </dd>
        )}
        {risk_level && <dt>Risk claimed by the agent</dt>}
        {risk_level && (
          <dd>
            <RiskMark risk={risk_level} />
          </dd>
        )}
      </dl>
      {images.map((text, index) => (
        <Picture
          key={`${revision.number}/${index}`}
          view={view}
          revision={revision}
          index={index}
          text={text}
        />
      ))}
    </Panel>
  )
}

interface PictureProps extends ClaimsProps {
  readonly index: number
  readonly text: string
}

/** A picture that the gateway has checked and serves itself; other entries appear as text. */
function Picture({ view, revision, index, text }: PictureProps) {
  const picture = revision.pictures[index]
  const name = `Picture ${index + 1} of ${revision.pictures.length} from the agent`
  if (picture?.shown !== true) {
    return (
      <div class="inert">
        <p class="quiet">
          {name}: not shown{picture?.reason && `, ${picture.reason}`}
        </p>
        <LongText text={text} />
      </div>
    )
  }
  const source =
    `review/threads/${encodeURIComponent(view.thread_id)}/images/${revision.number}/${index}` as const
  return (
    <figure>
      <Loaded source={source} alt={name} width={picture.width} height={picture.height} />
      <figcaption>{name}</figcaption>
    </figure>
  )
}

interface LoadedProps {
  readonly source: Address
  readonly alt: string
  readonly width?: number | undefined
  readonly height?: number | undefined
}

function Loaded({ source, ...image }: LoadedProps) {
  const url = useSignal<string | null | undefined>(undefined)
  useEffect(() => {
    let left = false
    void getBlob(source).then((blob) => {
      if (!left) url.value = blob ? URL.createObjectURL(blob) : null
    })
    return () => {
      left = true
      if (url.value) URL.revokeObjectURL(url.value)
    }
  }, [source])
  if (url.value) return <img src={url.value} {...image} />
  return <p class="quiet">{url.value === null ? 'It could not be loaded.' : 'Loading…'}</p>
}
