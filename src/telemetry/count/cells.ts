import type { Labels } from './series.ts'

/*
 * What a series holds. Counting is adding to a number: prom-client, which hashes and checks the labels of each observation anew, takes more than
 * three times as long, and is asked only to write the text.
 */

/** What names one call among those that were counted together: a trace or a thread. */
export type Exemplar = Readonly<Record<string, string>>

/** An exemplar as prom-client writes it. */
interface Shown {
  readonly labelSet: Exemplar
  readonly value: number
  /** Seconds since 1970. */
  readonly timestamp: number
}

const shown = (labelSet: Exemplar, value: number): Shown => ({
  labelSet,
  value,
  timestamp: Date.now() / 1000,
})

/** One line of the text. */
export interface Sample {
  readonly metricName?: string
  readonly labels: Readonly<Record<string, string | number>>
  readonly sharedLabels?: Labels
  readonly value: number
  readonly exemplar?: Shown | undefined
}

export interface Cell {
  add(value: number, exemplar?: Exemplar): void
  /** Under the metric's name. */
  samples(name: string): readonly Sample[]
}

export class CounterCell implements Cell {
  readonly #labels: Labels
  #value = 0
  #exemplar: Shown | undefined

  constructor(labels: Labels) {
    this.#labels = labels
  }

  add(value: number, exemplar?: Exemplar): void {
    this.#value += value
    if (exemplar !== undefined) this.#exemplar = shown(exemplar, value)
  }

  samples(): readonly Sample[] {
    return [{ labels: this.#labels, value: this.#value, exemplar: this.#exemplar }]
  }
}

export class GaugeCell implements Cell {
  readonly #labels: Labels
  #value = 0

  constructor(labels: Labels) {
    this.#labels = labels
  }

  add(value: number): void {
    this.#value = value
  }

  samples(): readonly Sample[] {
    return [{ labels: this.#labels, value: this.#value }]
  }
}

export class HistogramCell implements Cell {
  readonly #labels: Labels
  readonly #bounds: readonly number[]
  /** One for each bound, and one for what is above all of them. */
  readonly #counts: number[]
  readonly #exemplars: (Shown | undefined)[] = []
  #sum = 0

  constructor(labels: Labels, bounds: readonly number[]) {
    this.#labels = labels
    this.#bounds = bounds
    this.#counts = [...bounds, Infinity].map(() => 0)
  }

  /** All that is observed are spans of time: one that begins by the clock of another gateway may come out below 0, and a sum never goes down. */
  add(span: number, exemplar?: Exemplar): void {
    const value = Math.max(0, span)
    const bounds = this.#bounds
    let at = 0
    while (at < bounds.length && value > (bounds[at] as number)) at += 1
    this.#counts[at] = (this.#counts[at] as number) + 1
    this.#sum += value
    if (exemplar !== undefined) this.#exemplars[at] = shown(exemplar, value)
  }

  samples(name: string): readonly Sample[] {
    const sharedLabels = this.#labels
    let count = 0
    const buckets = [...this.#bounds, '+Inf'].map((le, at): Sample => {
      count += this.#counts[at] ?? 0
      const exemplar = this.#exemplars[at]
      return { metricName: `${name}_bucket`, labels: { le }, sharedLabels, value: count, exemplar }
    })
    const total = (end: string, value: number): Sample => ({
      metricName: name + end,
      labels: {},
      sharedLabels,
      value,
    })
    return [...buckets, total('_sum', this.#sum), total('_count', count)]
  }
}
