import type { Destination } from '../../domain/webhook.ts'
import type { DeliveryRecord } from '../core/records.ts'

/** Who makes the deliveries of this instance, as a commit that enqueues some sees it. */
export interface Deliverer {
  /**
   * Until when (ms since 1970) a delivery that is about to be enqueued is this instance's own: it is born leased, which saves the commit that would lease
   * it. Undefined where there is no room, or where something waits already: then whoever looks next makes it. Each lease ends with `make` or `drop`.
   */
  lease(destination: string): number | undefined
  /** The commit is durable. */
  make(leased: readonly Leased[]): void
  /** It failed, or nobody knows. If it did happen, somebody takes over when the lease ends. */
  drop(leased: readonly Leased[]): void
  /** There is something to look for. May be lost: the worker looks by itself. */
  wake(tenant: string): void
}

/** A delivery before it is written. */
export interface Leased {
  readonly tenant: string
  readonly destination: Destination
  readonly id: string
  readonly record: DeliveryRecord
}
