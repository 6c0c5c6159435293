import { signal } from '@preact/signals'
import { get, type Refusal } from '../wire/call.ts'
import type { Address } from '../wire/path.ts'

/** The loaded part of a list. */
export interface Loaded<T> {
  readonly items: readonly T[]
  readonly cursor: string | undefined
  /** Ids of items whose records are broken. */
  readonly unreadable: readonly string[]
}

/** The loaded part of a list, and the address from which it was loaded. */
export interface ListState<T> extends Loaded<T> {
  readonly address: Address | undefined
  readonly loading: boolean
  readonly problem?: Refusal
}

/** The items of an answer, and the id of each. */
export interface Listed<T, Page> {
  readonly items: (page: Page) => readonly T[]
  readonly id: (item: T) => string
}

const NOTHING = { items: [], unreadable: [], cursor: undefined, address: undefined, loading: true }

/** Creates a list that loads page by page. Answers to outdated requests are dropped. */
export function createList<
  T,
  Page extends { readonly next_cursor?: string; readonly unreadable?: readonly string[] },
>({ items, id }: Listed<T, Page>) {
  const state = signal<ListState<T>>(NOTHING)
  let asked = 0
  /** The number of items that the running request shall reach. */
  let wanted = 0

  /** Continues from `loaded` until the list has `enough` items, or until its end. */
  async function read(address: Address, loaded: Loaded<T>, enough: number): Promise<void> {
    const mine = ++asked
    wanted = enough
    let { items: all, cursor, unreadable } = loaded
    do {
      const answer = await get<Page>(pageOf(address, enough - all.length, cursor))
      if (mine !== asked) return
      if (!answer.ok) {
        state.value = { ...state.value, address, loading: false, problem: answer.problem }
        return
      }
      all = withoutTwins(all, items(answer.body))
      cursor = answer.body.next_cursor
      unreadable = [...unreadable, ...(answer.body.unreadable ?? [])]
    } while (cursor !== undefined && all.length < enough)
    state.value = { address, items: all, cursor, unreadable, loading: false }
  }

  /** The next items, without items that the list already has. */
  function withoutTwins(before: readonly T[], next: readonly T[]): T[] {
    const known = new Set(before.map(id))
    return [...before, ...next.filter((one) => !known.has(id(one)))]
  }

  const loadedOrWanted = (): number => Math.max(state.value.items.length, state.value.loading ? wanted : 0)

  return {
    state,
    /**
     * Loads from the start. The old items remain until the answer arrives. For the same address, the list loads as many
     * items as before, or as an unanswered `more` asked for.
     */
    load: (address: Address, enough = loadedOrWanted()): Promise<void> => {
      const same = address === state.value.address
      state.value = same ? { ...state.value, loading: true } : { ...NOTHING, address }
      return read(address, NOTHING, enough)
    },
    more: (): Promise<void> => {
      const { address } = state.value
      if (address === undefined) return Promise.resolve()
      state.value = { ...state.value, loading: true }
      return read(address, state.value, state.value.items.length + PAGE)
    },
  }
}

const MOST_AT_ONCE = 100
const PAGE = 25

function pageOf(address: Address, wanted: number, cursor: string | undefined): Address {
  const [path = '', query] = address.split('?')
  const search = new URLSearchParams(query)
  if (wanted > PAGE) search.set('limit', String(Math.min(wanted, MOST_AT_ONCE)))
  if (cursor !== undefined) search.set('cursor', cursor)
  return `${path}?${search.toString()}` as Address
}
