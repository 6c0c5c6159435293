/**
 * Why a log cannot continue in its place. Only an operator can decide what is right:
 * - `store_behind`: the place has more records than the store has signed
 * - `forked`: the store has other records than the place
 * - `place_behind`: the place has lost records
 * - `damaged`: a file of the place is missing or wrong, or another key signed its checkpoint
 * - `long_record`: a record is longer than an entry of a bundle may be
 */
export const STOPS = ['store_behind', 'forked', 'place_behind', 'damaged', 'long_record'] as const
export type Stop = (typeof STOPS)[number]

/** Why records that left the store cannot be read: their place is away, or a file has others. */
export const UNREADABLE = ['away', 'changed'] as const

/** The error that stops the tiles of one log. Nothing else stops. */
export class TilesStopped extends Error {
  override readonly name = 'TilesStopped'
  readonly stop: Stop

  constructor(stop: Stop, message: string, options?: ErrorOptions) {
    super(message, options)
    this.stop = stop
  }
}
