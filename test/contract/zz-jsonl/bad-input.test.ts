import { describeBadInput } from './bad-input.contract.ts';
import { STORES } from './stores.ts';

for (const store of STORES) describeBadInput(store);
