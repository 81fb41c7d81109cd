import { defineConfig, loadEnv } from "vite";

/**
 * Pages call their own origin, so a proxy stands before page and store: here the
 * development server, in production the one that is there anyway.
 */
export default defineConfig(({ mode }) => ({
  server: {
    proxy: {
      "/plantstore.v1.PlantService": loadEnv(mode, ".", "PLANT_STORE_")["PLANT_STORE_URL"] ?? "",
    },
  },
}));
