import type { Store } from '../../src/store/store.ts'
import type { OpenedStore } from '../store/conformance.ts'

/** A store for one law: emptied first, opened anew on the same data as often as asked. */
export async function openedEmpty(
  empty: () => Promise<unknown>,
  open: () => Promise<Store>,
): Promise<OpenedStore> {
  await empty()
  const store = await open()
  const stores = [store]
  return {
    store,
    reopen: async () => {
      await stores.at(-1)?.close()
      const again = await open()
      stores.push(again)
      return again
    },
    cleanup: async () => {
      for (const one of stores) await one.close()
    },
  }
}
