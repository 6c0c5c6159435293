/*
 * Time and memory of `evidence verify` for an export of many threads, compared to only reading the file and hashing its
 * lines. Each thread has a submission with disclosures, an approval, a collected proof and its redemption.
 *
 * npm run build && node bench/verify.mjs [threads ...]
 */
import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream, mkdtempSync, rmSync } from 'node:fs'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { signCheckpoint, signingKeyOf, verifierKey } from '../dist/domain/checkpoint.js'
import { commitmentTo } from '../dist/domain/disclosure.js'
import { canonicalJson, leafHash } from '../dist/domain/digest.js'
import { EMPTY_TREE, grown, rootOf } from '../dist/domain/merkle.js'
import { verifyEvidence } from '../dist/evidence/verify.js'

const counts = process.argv.slice(2).map(Number)
const ORIGIN = 'countersign/bench/acme'
const key = signingKeyOf(Buffer.alloc(32, 1))
const SEED = 'A'.repeat(22)
const at = (second) => new Date(Date.UTC(2026, 10, 20) + second * 1_000).toISOString()
const common = (type, kind, id, details) => ({
  v: 1,
  type,
  tenant: 'acme',
  at: at(1),
  actor: { kind, id },
  details,
})

function* records(threads) {
  for (const [holder, id] of [
    ['agent', 'bot'],
    ['reviewer', 'ann'],
  ])
    yield common('key.issued', 'admin', 'admin', { holder, id, key_hash: leafHash(id), rotated: false })
  const requirement = { expires_ms: 3_600_000, seats: [{ approvals: 1, escalate: [], group: 'desk' }] }
  for (let i = 0; i < threads; i++) {
    const about = {
      thread_id: `thr_${String(i).padStart(26, '0')}`,
      task_id: `task-${i % 1_000}`,
      tool: 'ledger.transfer',
      revision: 1,
    }
    const digest = leafHash(about.thread_id)
    const decided = {
      verdict: 'review',
      risk: 'medium',
      policy_risk: 'medium',
      by: ['transfer-medium'],
      rules: ['transfer-medium'],
      policy: digest,
      requirement,
    }
    const members = {
      line: `Transfer ${i} to acct_travel`,
      nonce: digest.slice(0, 22),
      payload_digest: digest,
      'reads.payload.amount_cents': i,
      'reads.payload.to': 'acct_travel',
    }
    const commitment = commitmentTo(members, SEED)
    const asked = common('review.pending', 'agent', 'bot', { ...decided, commitment })
    yield { ...asked, ...about, disclosures: { members, seed: SEED } }
    yield {
      ...common('vote.cast', 'reviewer', 'ann', {
        decision: 'approve',
        digest,
        displayed: 'none',
        via: 'key',
      }),
      ...about,
    }
    yield {
      ...common('review.approved', 'reviewer', 'ann', {
        risk: 'medium',
        voters: ['ann'],
        digest,
        waited_ms: 0,
      }),
      ...about,
    }
    yield { ...common('token.minted', 'agent', 'bot', { token_hash: digest, expires_at: at(600) }), ...about }
    yield { ...common('token.redeemed', 'agent', 'bot', { token_hash: digest }), ...about }
  }
}

/** Writes an export. Returns the export's signed checkpoint and the key to verify this checkpoint. */
async function exportTo(file, threads) {
  const out = createWriteStream(file)
  let tree = EMPTY_TREE
  for (const { disclosures, ...record } of records(threads)) {
    const text = canonicalJson(record)
    const leaf = leafHash(text)
    tree = grown(tree, [leaf])
    const beside = disclosures ? `"disclosures":${JSON.stringify(disclosures)},` : ''
    const line = `{"number":${tree.size},"leaf_hash":"${leaf}",${beside}"record":${text}}\n`
    if (!out.write(line)) await once(out, 'drain')
  }
  out.end()
  await once(out, 'close')
  const note = signCheckpoint({ origin: ORIGIN, size: tree.size, root: rootOf(tree), at: at(1) }, key)
  return { notes: [note], verifierKeys: [verifierKey(ORIGIN, key.public)], receipts: [] }
}

const seconds = (since) => (performance.now() - since) / 1_000
const memory = () => {
  globalThis.gc?.()
  return process.memoryUsage().heapUsed / 1e6
}

const directory = mkdtempSync(join(tmpdir(), 'countersign-bench-'))
try {
  const rows = []
  for (const threads of counts.length > 0 ? counts : [1_000, 10_000, 100_000]) {
    const file = join(directory, `${threads}.ndjson`)
    const proofs = await exportTo(file, threads)
    const bare = performance.now()
    for await (const line of createInterface({ input: createReadStream(file) }))
      createHash('sha256').update(line).digest('hex')
    const bareSeconds = seconds(bare)
    const before = memory()
    let most = 0
    const watched = (async function* () {
      for await (const chunk of createReadStream(file)) {
        yield chunk
        most = Math.max(most, process.memoryUsage().heapUsed / 1e6)
      }
    })()
    const start = performance.now()
    const { faults, records: count } = await verifyEvidence(watched, proofs)
    const took = seconds(start)
    if (faults.length > 0) throw new Error(faults[0].text)
    rows.push({
      threads,
      records: count,
      seconds: Number(took.toFixed(2)),
      'records/s': Math.round(count / took),
      'x reading and hashing': Number((took / bareSeconds).toFixed(1)),
      'heap, MB more at most': Math.round(most - before),
    })
  }
  console.log(`\nNode ${process.version}`)
  console.table(rows)
} finally {
  rmSync(directory, { recursive: true })
}
