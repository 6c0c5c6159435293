/** Health on the wire (docs/operations.md). Loaded only to generate schemas/openapi.json. */
import { Type, type Static } from 'typebox'

export const Liveness = Type.Object({ live: Type.Boolean() })
export type Liveness = Static<typeof Liveness>

export const Readiness = Type.Object({ ready: Type.Boolean(), store: Type.String(), policies: Type.String() })
export type Readiness = Static<typeof Readiness>
