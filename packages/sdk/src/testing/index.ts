/** `@countersign/sdk/testing`: a real gateway for the tests of an agent. Works with vitest, `node:test` and others. */
export { bundle, type BundleOptions, type Files, type Tools } from './bundle.ts'
export { startGateway, type TestGateway, type TestGatewayOptions } from './gateway.ts'
export {
  type EvidenceRecord,
  type HeldThread,
  Reviewer,
  type ThreadOfReviewer,
  type Vote,
  type Watched,
} from './reviewer.ts'
