import { Field } from '../shell/field.tsx'
import { useSignal } from '@preact/signals'
import { now } from '../time/clock.ts'

const DAY_MS = 24 * 3_600_000

/** The value of a field for date and time: local time, to the minute. */
function localText(moment: number): string {
  const offset = new Date(moment).getTimezoneOffset() * 60_000
  return new Date(moment - offset).toISOString().slice(0, 16)
}

/** A form that redelivers all deliveries that were given up since a time. */
export function RedeliverSince({ redeliver }: { readonly redeliver: (since: string) => void }) {
  const since = useSignal(localText(now.value - DAY_MS))
  return (
    <form
      class="since"
      onSubmit={(event) => {
        event.preventDefault()
        redeliver(new Date(since.value).toISOString())
      }}
    >
      <button>Retry failed deliveries</button>
      <label>
        since{' '}
        <Field
          type="datetime-local"
          required
          value={since.value}
          set={(value) => {
            since.value = value
          }}
        />
      </label>
    </form>
  )
}
