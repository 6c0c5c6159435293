/*
 * A linearizability checker: the search of Wing and Gong ("Testing and verifying concurrent objects", 1993) with the
 * memory of Lowe ("Testing for linearizability", 2017).
 *
 * The model is a sequential object. A history is linearizable when every operation can take effect at one moment
 * between its call and its return. In the order of these moments, the model must give the same answers.
 *
 * The search places one operation after another. An operation may be next when its call precedes the first return of
 * all unplaced operations. The search takes one whose answer the model allows, continues from there, and steps back
 * when stuck. The rest of the search depends only on the placed operations and on the model's state, so it searches no
 * such pair twice.
 *
 * An operation may lack a return: a timeout, a lost answer, a killed caller. Such an operation may have taken effect at
 * any moment after its call, or never. The search may place it anywhere later or leave it out.
 */
export interface Operation<Input, Output> {
  /** When it was called; any monotonic unit. */
  readonly call: number
  /** When it answered; undefined when the outcome is unknown. */
  readonly return: number | undefined
  readonly input: Input
  /** Left out when the outcome is unknown. */
  readonly output?: Output
}

export interface Model<State extends string | number, Input, Output> {
  readonly initial: State
  /**
   * The states that the operation may lead to when it gives this output; none when it cannot give it.
   * For an unknown outcome (`output` undefined) all that it may lead to.
   */
  next(state: State, input: Input, output: Output | undefined): readonly State[]
}

export type Verdict =
  | {
      readonly linearizable: true
      /** Positions in the history, in an order that explains it. */ readonly order: readonly number[]
    }
  | { readonly linearizable: false }
  /** The search was given up: neither yes nor no. */
  | { readonly linearizable: undefined }

export interface Search {
  readonly maxSteps?: number
}

const MAX_STEPS = 5_000_000

/** A place in the search: the state there, and the operations that the search may still try. */
interface Choice<State> {
  readonly state: State
  readonly candidates: readonly { readonly position: number; readonly state: State }[]
  tried: number
}

export function checkLinearizable<State extends string | number, Input, Output>(
  history: readonly Operation<Input, Output>[],
  model: Model<State, Input, Output>,
  { maxSteps = MAX_STEPS }: Search = {},
): Verdict {
  const placed = history.map(() => false)
  const order: number[] = []
  const seen = new Set<string>()
  const path: Choice<State>[] = [open(model.initial)]
  let missing = history.filter((operation) => operation.return !== undefined).length

  for (let step = 0; step < maxSteps; step++) {
    if (missing === 0) return { linearizable: true, order }
    const choice = path.at(-1)
    if (choice === undefined) return { linearizable: false }
    const candidate = choice.candidates[choice.tried++]
    if (candidate === undefined) {
      path.pop()
      takeBack()
      continue
    }
    place(candidate.position)
    const known = `${placed.map(Number).join('')} ${String(candidate.state)}`
    if (seen.has(known)) {
      takeBack()
      continue
    }
    seen.add(known)
    path.push(open(candidate.state))
  }
  return { linearizable: undefined }

  function open(state: State): Choice<State> {
    return { state, candidates: candidates(state), tried: 0 }
  }

  /** Operations that may come next, each with a state that it may lead to. */
  function candidates(state: State): { position: number; state: State }[] {
    const firstReturn = Math.min(
      ...history.map((operation, position) => (placed[position] ? Infinity : (operation.return ?? Infinity))),
    )
    return history.flatMap((operation, position) =>
      placed[position] || operation.call > firstReturn
        ? []
        : model.next(state, operation.input, operation.output).map((next) => ({ position, state: next })),
    )
  }

  function place(position: number): void {
    placed[position] = true
    order.push(position)
    if (history[position]?.return !== undefined) missing -= 1
  }

  function takeBack(): void {
    const position = order.pop()
    if (position === undefined) return
    placed[position] = false
    if (history[position]?.return !== undefined) missing += 1
  }
}
