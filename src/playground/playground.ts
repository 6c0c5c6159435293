import { linkOf, readLink } from './link.ts'
import type { BundleFile, Question, Reply } from './messages.ts'
import { RECIPES } from './recipes.ts'

/** The state that a page of the playground displays. */
export interface PlaygroundState {
  /** The recipe that was opened; empty for a bundle that came with a link. */
  readonly recipe: string
  /** The link that was last opened or created. */
  readonly link: string | undefined
  readonly files: readonly BundleFile[]
  /** The path of the file in the editor. */
  readonly path: string
  /** True for changes that no link contains. */
  readonly changed: boolean
  /** The text of the call; undefined until the evaluator has proposed one. */
  readonly request: string | undefined
  /** The last answer of the evaluator; undefined while it loads. */
  readonly reply: Reply | undefined
  /** A sentence about the last act. */
  readonly note: string
}

export const EMPTY: PlaygroundState = {
  recipe: '',
  link: undefined,
  files: [],
  path: '',
  changed: false,
  request: undefined,
  reply: undefined,
  note: '',
}

export interface Playground {
  /** Opens a link. Without a link, the current bundle remains; without a bundle, the first recipe opens. */
  readonly open: (link?: string) => Promise<void>
  readonly show: (path: string) => void
  /** Replaces the text of the shown file. */
  readonly edit: (text: string) => void
  readonly editCall: (text: string) => void
  /** Handles an answer of the evaluator. Only the answer to the latest question is used. */
  readonly answered: (reply: Reply) => void
  /** The evaluator did not load. */
  readonly failed: () => void
  /** Returns a link that contains the bundle and the call. */
  readonly share: () => Promise<string>
  readonly stop: () => void
}

const FIRST = 'spending-limit'
const TYPING_MS = 150
const REPLACE = 'Replace your changes to the bundle and the call with the content of the link?'

/** The ports of a playground. */
export interface PlaygroundPorts {
  /** Sends a question to the evaluator. */
  readonly ask: (question: Question) => void
  /** Asks the person whether a link may replace changes that no link contains. */
  readonly mayReplace: (question: string) => boolean
}

/**
 * Creates a bundle and a call that are evaluated while a person types. The caller displays the state.
 *
 * @param state a signal or a ref, which redraws the page when its value changes
 */
export function createPlayground(
  state: { value: PlaygroundState },
  { ask, mayReplace }: PlaygroundPorts,
): Playground {
  let asked = 0
  let opened = 0
  let timer: ReturnType<typeof setTimeout> | undefined
  const change = (part: Partial<PlaygroundState>): void => {
    state.value = { ...state.value, ...part }
  }
  const evaluate = (): void => {
    clearTimeout(timer)
    const { files, request } = state.value
    ask({ id: ++asked, files, request })
  }
  const type = (part: Partial<PlaygroundState>): void => {
    change({ ...part, changed: true, note: '' })
    clearTimeout(timer)
    timer = setTimeout(evaluate, TYPING_MS)
  }
  return {
    open: async (link) => {
      const mine = ++opened
      const { files, link: last } = state.value
      if (files.length === 0 || (link !== undefined && link !== last)) {
        const next = await contentsOf(link)
        if (mine !== opened) return
        if (state.value.changed && !mayReplace(REPLACE))
          change({ link, note: 'Your changes are still here.' })
        else change({ ...next, changed: false, link })
      }
      evaluate()
    },
    show: (path) => change({ path }),
    edit: (text) => {
      const { files, path } = state.value
      type({ files: files.map((file) => (file.path === path ? { path, text } : file)) })
    },
    editCall: (request) => type({ request }),
    answered: (reply) => {
      if (reply.id === asked) change({ reply, request: state.value.request ?? reply.request })
    },
    failed: () => change({ note: 'The evaluator did not load. Load the page again.' }),
    share: async () => {
      const { files, request = '' } = state.value
      const link = await linkOf(files, request)
      change({
        link,
        changed: false,
        note: 'The link is in the address bar. It contains the bundle and the call.',
      })
      return link
    },
    stop: () => clearTimeout(timer),
  }
}

type Contents = Pick<PlaygroundState, 'recipe' | 'files' | 'path' | 'request' | 'note'>

async function contentsOf(link?: string): Promise<Contents> {
  const linked = link === undefined ? { recipe: FIRST } : await readLink(link)
  if (linked !== undefined && 'files' in linked) return contents('', linked.files, linked.request)
  const recipe = linked?.recipe ?? ''
  const files = RECIPES.get(recipe)
  if (files !== undefined) return contents(recipe, files)
  const note = 'The link names no recipe and contains no readable bundle.'
  return { ...contents(FIRST, RECIPES.get(FIRST) ?? []), note }
}

const contents = (recipe: string, files: readonly BundleFile[], request?: string): Contents => ({
  recipe,
  files,
  path: files[0]?.path ?? '',
  request,
  note: '',
})

/** The text of the shown file. */
export const textOf = ({ files, path }: PlaygroundState): string =>
  files.find((file) => file.path === path)?.text ?? ''

/** Returns the start and the end of a line in a string, for the selection of an editor. Lines start at 1. */
export function rangeOfLine(text: string, line: number): readonly [number, number] {
  const lines = text.split('\n')
  const start = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0)
  return [start, start + (lines[line - 1] ?? '').length]
}
