import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openEmbeddedStore } from '../../src/store/embedded.ts'
import { storeConformance } from './conformance.ts'
import type { OpenedStore } from './conformance.ts'

async function openHere(): Promise<OpenedStore> {
  const path = mkdtempSync(join(tmpdir(), 'countersign-store-'))
  const store = await openEmbeddedStore({ path })
  let latest = store
  return {
    store,
    reopen: async () => {
      await latest.close()
      latest = await openEmbeddedStore({ path })
      return latest
    },
    cleanup: async () => {
      await latest.close()
      rmSync(path, { recursive: true, force: true })
    },
  }
}

storeConformance('embedded', openHere)
