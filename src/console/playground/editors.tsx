import { type Playground, type PlaygroundState, textOf } from '../../playground/playground.ts'
import { Select } from '../shell/field.tsx'
import { Panel } from '../shell/panel.tsx'

interface EditorProps {
  readonly state: PlaygroundState
  readonly playground: Playground
}

/** The element that contains the text of the shown file. */
export const BUNDLE_EDITOR = 'playground-file'

export function BundleEditor({ state, playground }: EditorProps) {
  return (
    <Panel
      title="Bundle"
      kind="bundle"
      note={
        <Select
          aria-label="File"
          value={state.path}
          set={(path) => playground.show(path)}
          options={state.files.map(({ path }) => [path, path])}
        />
      }
    >
      <textarea
        id={BUNDLE_EDITOR}
        aria-label="Text of the file"
        class="mono"
        spellcheck={false}
        value={textOf(state)}
        onInput={(event) => playground.edit(event.currentTarget.value)}
      />
    </Panel>
  )
}

export function CallEditor({ state, playground }: EditorProps) {
  return (
    <Panel title="Call" kind="call">
      <textarea
        aria-label="Call"
        class="mono"
        spellcheck={false}
        value={state.request ?? ''}
        onInput={(event) => playground.editCall(event.currentTarget.value)}
      />
    </Panel>
  )
}
